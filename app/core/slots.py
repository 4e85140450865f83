"""How many model calls each worker process may have under way, so that all together stay within a provider's limit."""

from collections.abc import Mapping, Sequence

RECOVERY_SECONDS = 60.0
"""A limit that was lowered because a provider said "too many" is back at its height after this."""


def lowered(limit: int) -> int:
    """After a provider said "too many requests"."""
    return max(1, limit // 2)


def recovered(configured: int, lowered_to: int, seconds: float) -> int:
    """The limit some time after it was lowered: it grows back evenly, so that the way up is tried step by step."""
    grown = lowered_to + configured * max(0.0, seconds) / RECOVERY_SECONDS
    return min(configured, int(grown))


def fair_shares(limit: int, wanted: Mapping[str, int], first: int) -> dict[str, int]:
    """Slots for each process, one at a time in turn, until there are no more or everybody has enough.

    `first` says who is served first; counted up over time, nobody is always the last.
    """
    shares = dict.fromkeys(wanted, 0)
    queue = _rotated(sorted(name for name, count in wanted.items() if count > 0), first)
    while queue and limit > 0:
        served = queue[:limit]
        for name in served:
            shares[name] += 1
        limit -= len(served)
        queue = [name for name in queue if shares[name] < wanted[name]]
    return shares


def _rotated(names: Sequence[str], first: int) -> list[str]:
    start = first % len(names) if names else 0
    return [*names[start:], *names[:start]]


def allowed(limit: int, share: int, held_by_others: int) -> int:
    """What a process may hold now: its share, as far as the others have already given up what is not theirs."""
    return max(0, min(share, limit - held_by_others))
