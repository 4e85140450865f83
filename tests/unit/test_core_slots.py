"""Sharing a provider's slots between processes."""

from hypothesis import given
from hypothesis import strategies as st

from app.core.model_calls import RECOVERY_SECONDS, allowed, fair_shares, lowered, recovered

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


def test_a_limit_is_halved_and_grows_back_within_a_minute():
    assert [lowered(50), lowered(3), lowered(1)] == [25, 1, 1]
    assert recovered(50, 25, 0) == 25
    assert recovered(50, 25, RECOVERY_SECONDS / 4) == 37
    assert recovered(50, 1, RECOVERY_SECONDS) == 50
    assert recovered(50, 40, 1e9) == 50
