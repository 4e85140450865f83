"""Keeps alive the claims that this process holds, and notices the ones it has lost."""

import threading
from collections.abc import Callable
from uuid import UUID

AskAboutClaims = Callable[[list[tuple[UUID, UUID]]], set[UUID]]
"""Takes (id, token) pairs and returns the tokens that still hold."""


class ClaimKeeper:
    """The turns (or evaluations) in hand, each with an event that tells whoever thinks about it to give up.

    By token, not by debate: a debate that was paused and resumed may be claimed again here while the player of the
    lost claim still thinks.
    """

    def __init__(self, renew: AskAboutClaims, look: AskAboutClaims | None = None) -> None:
        self._renew = renew
        self._look = look or renew
        self._lock = threading.Lock()
        self._held: dict[UUID, tuple[UUID, threading.Event]] = {}
        self._is_over = False

    def hold(self, about: UUID, token: UUID) -> threading.Event:
        """Returns the event that takes this claim (on a debate, say) away."""
        cancelled = threading.Event()
        with self._lock:
            if self._is_over:
                cancelled.set()
            self._held[token] = (about, cancelled)
        return cancelled

    def let_go(self, token: UUID) -> None:
        with self._lock:
            del self._held[token]

    def renew_all(self) -> None:
        """One UPDATE for all. A claim that was not renewed is lost, or its turn was committed meanwhile."""
        self._ask(self._renew)

    def look_at_all(self) -> None:
        """One cheap SELECT for all, often: whoever stops a debate wants its player to fall silent at once."""
        self._ask(self._look)

    def _ask(self, question: AskAboutClaims) -> None:
        with self._lock:
            held = dict(self._held)
        if not held:
            return
        still_ours = question([(about, token) for token, (about, _) in held.items()])
        for token in held.keys() - still_ours:
            held[token][1].set()

    def cancel_all(self) -> None:
        """Also what is taken in hand from now on."""
        with self._lock:
            self._is_over = True
            for _, cancelled in self._held.values():
                cancelled.set()
