"""Agents' keys: recognisable, unguessable, and never stored."""

import hashlib
import threading
from uuid import UUID

from app.core.access import OPERATOR, Agent, Scope
from app.realtime.credentials import KeyWatch
from app.store.agents import KEY_PREFIX, hash_of, new_key, same


def test_a_key_has_its_prefix_and_256_bits():
    key = new_key()
    assert key.secret.startswith(KEY_PREFIX)
    assert len(key.secret) == len(KEY_PREFIX) + 43
    assert new_key().secret != key.secret


def test_what_is_kept_is_its_sha256_and_a_hint_that_tells_little():
    key = new_key()
    assert key.hash == hashlib.sha256(key.secret.encode()).digest()
    assert key.hint == key.secret[:8]
    assert key.secret not in repr(key)


def test_comparing_takes_any_text():
    assert same("a token", "a token")
    assert not same("a token", "another")
    assert not same("é\udcff", "a token")
    assert len(hash_of("")) == 32


def an_agent(key):
    return Agent(UUID(int=1), "me", frozenset(Scope), credential=key)


class Asked:
    """The database as the watch sees it."""

    def __init__(self, valid):
        self.valid = set(valid)
        self.questions = []

    def __call__(self, keys):
        self.questions.append(sorted(keys))
        return self.valid & set(keys)


def test_what_a_revoked_key_has_open_is_ended_and_nothing_else():
    asked = Asked({b"good", b"bad"})
    keys = KeyWatch(asked, 100)
    lost = []
    with (
        keys.watch(an_agent(b"bad"), lambda: lost.append("first")) as first,
        keys.watch(an_agent(b"bad"), lambda: lost.append("second")),
        keys.watch(an_agent(b"good"), lambda: lost.append("good")) as good,
        keys.watch(OPERATOR, lambda: lost.append("operator")),
    ):
        keys.check()
        assert lost == []
        asked.valid.remove(b"bad")
        keys.check()
        assert sorted(lost) == ["first", "second"]
        assert (first.is_lost, good.is_lost) == (True, False)
    assert asked.questions[0] == [b"bad", b"good"], "one question for all, and none about the operator"


def test_what_was_closed_is_forgotten():
    asked = Asked(set())
    keys = KeyWatch(asked, 100)
    lost = threading.Event()
    with keys.watch(an_agent(b"gone"), lost.set):
        pass
    keys.check()
    assert not lost.is_set()
    assert asked.questions == []
