"""Debates as a worker meets them."""

from dataclasses import replace
from typing import Any

from harness import numbers

from app.core.access import OPERATOR
from app.core.debate import Debate
from app.core.formats import Format
from app.usecases import advance
from app.usecases.advance import HeldTurn
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services


def a_debate(services: Services, **changes: Any) -> Debate:
    new = NewDebate("Cars", "general_debate", "Ban cars", f"request-{next(numbers)}", format=Format.ROUNDS)
    return create_debate(services, OPERATOR, replace(new, **changes)).debate


def claimed(services: Services, debate: Debate) -> HeldTurn:
    held = advance.claim(services, debate.id, "worker")
    assert held is not None
    return held
