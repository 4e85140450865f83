"""Webhooks: the events, where one may be sent, and when an attempt is repeated."""

import ipaddress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

TEST_EVENT = "webhook.test"
RETRY_FOR_SECONDS = 3 * 86_400.0
LONGEST_DELAY_SECONDS = 8 * 3_600.0


class WebhookEvent(StrEnum):
    DEBATE_STARTED = "debate.started"
    DEBATE_COMPLETED = "debate.completed"
    DEBATE_STOPPED = "debate.stopped"
    DEBATE_FAILED = "debate.failed"
    SEAT_WAITING = "seat.waiting"
    JUDGMENT_COMPLETED = "judgment.completed"
    EXPERIMENT_COMPLETED = "experiment.completed"
    CONTRIBUTION_FLAGGED = "contribution.flagged"


@dataclass(frozen=True, slots=True)
class DueDelivery:
    id: UUID
    token: UUID
    webhook_id: UUID
    url: str
    secret: str = field(repr=False)
    event: str
    data: dict[str, Any]
    created_at: datetime
    attempts: int
    age_seconds: float


def delay_after(failed_attempts: int, age_seconds: float, first_delay_seconds: float, jitter: float) -> float | None:
    """Before the next attempt; None when it is time to give up. `failed_attempts` counts the one that just failed."""
    if age_seconds >= RETRY_FOR_SECONDS:
        return None
    delay: float = min(first_delay_seconds * 2.0 ** min(failed_attempts - 1, 30), LONGEST_DELAY_SECONDS)
    return delay * (1 + jitter / 4)


def why_refused(address: str) -> str | None:
    """Why nothing is sent to this address (of a name that was resolved); None for an address of the public network."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found
    within = found.sixtofour if isinstance(found, ipaddress.IPv6Address) else None
    # Python calls the deprecated site-local addresses global.
    is_site_local = isinstance(found, ipaddress.IPv6Address) and found.is_site_local
    is_public = found.is_global and not found.is_multicast and not found.is_reserved and not is_site_local
    if is_public and (within is None or within.is_global):
        return None
    return f"{address} is a private, loopback or reserved address; DEBATE_WEBHOOKS_PRIVATE=true allows those"
