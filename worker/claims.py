"""Keeps alive the claims that this process holds, and notices the ones it has lost."""

import threading
from collections.abc import Callable
from uuid import UUID

from app.usecases.advance import HeldTurn

RenewClaims = Callable[[list[tuple[UUID, UUID]]], set[UUID]]


class ClaimKeeper:
    """The turns in hand, each with an event that tells its player to give up."""

    def __init__(self, renew: RenewClaims) -> None:
        self._renew = renew
        self._lock = threading.Lock()
        self._held: dict[UUID, tuple[UUID, threading.Event]] = {}

    def hold(self, turn: HeldTurn) -> threading.Event:
        """Call again with the next turn of the same debate; returns the event that takes this one away."""
        cancelled = threading.Event()
        with self._lock:
            self._held[turn.debate.id] = (turn.token, cancelled)
        return cancelled

    def let_go(self, debate_id: UUID, token: UUID) -> None:
        with self._lock:
            # Another task of this process may hold the debate again by now, under another token.
            if debate_id in self._held and self._held[debate_id][0] == token:
                del self._held[debate_id]

    def renew_all(self) -> None:
        """One UPDATE for all. A claim that was not renewed is lost, unless its task went on to the next meanwhile."""
        with self._lock:
            held = dict(self._held)
        if not held:
            return
        still_ours = self._renew([(debate_id, token) for debate_id, (token, _) in held.items()])
        for debate_id in held.keys() - still_ours:
            held[debate_id][1].set()

    def cancel_all(self) -> None:
        with self._lock:
            for _, cancelled in self._held.values():
                cancelled.set()

    def count(self) -> int:
        with self._lock:
            return len(self._held)
