"""What a worker asks of an evaluator that looks at a contribution after the rules."""

import threading
from typing import Protocol

from app.core.guardrail.opinion import Opinion, Text


class Evaluator(Protocol):
    @property
    def name(self) -> str:
        """With its version, as it is recorded with each verdict."""

    def evaluate(self, text: Text, cancelled: threading.Event) -> Opinion:
        """Fails as players do: raises Cancelled soon after `cancelled` is set, PlayerError when it could not say, or
        NotNow when it must not yet."""
