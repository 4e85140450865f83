"""Ended claims are remembered for a while, and never too many."""

from uuid import uuid4

import pytest

from worker import ended_claims
from worker.ended_claims import EndedClaims


def test_a_claim_that_ended_is_known_until_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(ended_claims.time, "monotonic", lambda: now)
    ended, first, second = EndedClaims(), uuid4(), uuid4()
    ended.add(first)
    now += ended_claims.KEPT_SECONDS / 2
    ended.add(second)
    assert first in ended
    assert second in ended
    assert uuid4() not in ended
    now += ended_claims.KEPT_SECONDS / 2
    assert first not in ended
    assert second in ended


def test_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_claims, "MOST_KEPT", 3)
    ended, tokens = EndedClaims(), [uuid4() for _ in range(5)]
    for token in tokens:
        ended.add(token)
    assert [token in ended for token in tokens] == [False, False, True, True, True]
