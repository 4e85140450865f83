"""Sharing a provider's slots between processes."""

import random
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model_calls import RECOVERY_SECONDS, allowed, fair_shares, lowered, recovered
from app.store.model_calls import LOWER_EVERY_SECONDS
from worker.players.models.calls import LATEST_CALLS

wants = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 120), min_size=1)


@given(limit=st.integers(1, 200), wanted=wants, first=st.integers(0, 10))
def test_shares_are_fair_and_use_all_that_there_is(limit, wanted, first):
    shares = fair_shares(limit, wanted, first)
    assert sum(shares.values()) == min(limit, sum(wanted.values()))
    assert all(shares[name] <= wanted[name] for name in wanted)
    # Whoever has less than it wants has at most one less than anybody else.
    most = max(shares.values())
    assert all(shares[name] >= most - 1 for name in wanted if shares[name] < wanted[name])


def test_over_time_everybody_is_served():
    served = {
        name for first in range(3) for name, share in fair_shares(1, dict.fromkeys("abc", 9), first).items() if share
    }
    assert served == set("abc")


@given(limit=st.integers(1, 100), share=st.integers(0, 100), others=st.integers(0, 150))
def test_nobody_takes_what_others_still_hold(limit, share, others):
    held = allowed(limit, share, others)
    assert 0 <= held <= share
    assert held == 0 or held + others <= limit


def test_a_limit_falls_by_the_share_that_was_refused_and_at_most_by_half():
    assert [lowered(50, share) for share in (0.0, 0.02, 0.2, 0.5, 1.0)] == [50, 49, 40, 25, 25]
    assert [lowered(limit, 1.0) for limit in (3, 2, 1)] == [2, 1, 1]


def test_a_limit_grows_back_within_a_minute():
    assert RECOVERY_SECONDS <= 60
    assert recovered(50, 25, 0) == 25
    assert recovered(50, 25, RECOVERY_SECONDS / 4) == 37
    assert recovered(50, 1, RECOVERY_SECONDS) == 50
    assert recovered(50, 40, 1e9) == 50


def mean_limit(is_refused: Callable[[int, int], bool], call_seconds: float) -> float:
    """Of 50, over ten minutes in which calls take all slots. `is_refused` is asked with the number of a call and how
    many are in flight; a refused call ends at once."""
    latest: deque[bool] = deque(maxlen=LATEST_CALLS)
    ends: list[float] = []
    lowered_to, lowered_at, calls, limits = 50, -1e9, 0, []
    for tenth in range(6_000):
        now = tenth / 10
        ends = [end for end in ends if end > now]
        for _ in range(recovered(50, lowered_to, now - lowered_at) - len(ends)):
            calls += 1
            latest.append(is_refused(calls, len(ends)))
            if not latest[-1]:
                ends.append(now + call_seconds)
            elif now - lowered_at >= LOWER_EVERY_SECONDS:
                lowered_to = lowered(recovered(50, lowered_to, now - lowered_at), sum(latest) / len(latest))
                lowered_at = now
        limits.append(recovered(50, lowered_to, now - lowered_at))
    return sum(limits) / len(limits)


@pytest.mark.parametrize("call_seconds", [0.5, 3.5, 10])
def test_a_few_refusals_leave_nearly_all_slots_and_a_provider_of_fewer_calls_gets_about_as_many(call_seconds):
    dice = random.Random(1)
    assert mean_limit(lambda _calls, _in_flight: dice.random() < 0.016, call_seconds) > 45
    assert 10 < mean_limit(lambda _calls, in_flight: in_flight >= 14, call_seconds) < 18
