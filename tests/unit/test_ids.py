"""Identifiers are what they say."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from app.store.clock import seconds_since_1970, set_clock
from app.store.ids import first_id_at, new_claim_token, new_turn_id, time_of

LONG_AGO = datetime(2001, 2, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _clock() -> Iterator[None]:
    """What the database says it is, whatever this machine says."""
    set_clock(LONG_AGO)
    yield
    set_clock(datetime.now(UTC))


def now() -> datetime:
    return datetime.fromtimestamp(seconds_since_1970(), UTC)


@pytest.mark.parametrize("new", [new_turn_id, new_claim_token])
def test_turn_ids_and_claim_tokens_are_uuids_of_version_seven_that_sort_by_time(new: Callable[[], UUID]) -> None:
    before = int(LONG_AGO.timestamp()) * 1000
    made = [new() for _ in range(1000)]
    assert {turn_id.version for turn_id in made} == {7}
    assert {turn_id.variant for turn_id in made} == {"specified in RFC 4122"}
    assert len(set(made)) == 1000
    assert before <= made[0].int >> 80 <= made[-1].int >> 80 <= now().timestamp() * 1000


def test_an_id_says_when_it_was_made_and_the_first_of_a_moment_comes_before_it() -> None:
    before = now() - timedelta(milliseconds=1)
    made = new_turn_id()
    assert before <= time_of(made) <= now() < LONG_AGO + timedelta(hours=1)
    assert first_id_at(before) <= made < first_id_at(now() + timedelta(milliseconds=1))


def test_an_id_of_another_version_does_not_say_when_it_was_made() -> None:
    assert time_of(UUID("f96b9514-d777-4f4f-97e7-4c093833c1e2")) is None
