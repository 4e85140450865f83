"""What follows a failure of a player."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import retry
from app.core.retry import after_failure, stored_delay, why_not_waited_for

ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(("failed_attempts", "longest_seconds"), [(1, 1), (2, 2), (3, 4), (4, 8)])
def test_the_delay_doubles_with_each_failure_and_jitter_spreads_it_over_the_upper_half(
    failed_attempts, longest_seconds
):
    assert after_failure(failed_attempts, permanent=False, jitter=0) == longest_seconds / 2
    assert after_failure(failed_attempts, permanent=False, jitter=0.5) == longest_seconds * 0.75
    almost = after_failure(failed_attempts, permanent=False, jitter=ALMOST_ONE)
    assert almost == pytest.approx(longest_seconds)


@pytest.mark.parametrize("failed_attempts", [5, 6, 1000])
def test_the_fifth_failure_is_the_last(failed_attempts):
    assert after_failure(failed_attempts, permanent=False, jitter=0.5) is None


@pytest.mark.parametrize("failed_attempts", [1, 4, 5])
def test_a_permanent_failure_is_not_tried_again(failed_attempts):
    assert after_failure(failed_attempts, permanent=True, jitter=0.5) is None


@pytest.mark.parametrize(("failed_attempts", "longest_seconds"), [(6, 32), (7, 60), (8, 60), (2000, 60), (10**9, 60)])
def test_no_delay_is_longer_than_a_minute_however_many_attempts_are_allowed(
    monkeypatch, failed_attempts, longest_seconds
):
    monkeypatch.setattr(retry, "MAX_ATTEMPTS", 10**12)
    assert after_failure(failed_attempts, permanent=False, jitter=0) == longest_seconds / 2


@pytest.mark.parametrize(
    ("asked_seconds", "words"),
    [
        *((seconds, None) for seconds in (None, 0, 1, 3599.5, 3600)),
        (3601, "60 minutes"),
        (7200, "120 minutes"),
        (86_400 * 3, "3 days"),
        (1e12, "more than a year"),
        (float("inf"), "more than a year"),
    ],
)
def test_an_hour_is_waited_for_and_longer_is_a_failure_with_words(asked_seconds, words):
    why = words and f"it asks to wait for {words}, more than the limit of an hour"
    assert why_not_waited_for(asked_seconds) == why


@given(st.floats())
def test_no_delay_is_stored_that_could_not_be_read_back(seconds):
    assert 0 <= stored_delay(seconds) <= 86_400
    if 0 <= seconds <= 3600:
        assert stored_delay(seconds) == seconds
