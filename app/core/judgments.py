"""Judgments: opinions of finished debates, apart from the debates. A debate can be judged again, by others, later."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from uuid import UUID

from app.core.brief import Brief, JudgmentKey
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Turn, TurnType, Usage
from app.core.errors import ActionNotAllowed, InvalidInput
from app.core.players import SCRIPTED, JudgeOrder, SeatSetup
from app.core.seats import Seat
from app.core.verdicts import Verdict

MOST_REPEATS = 100
MOST_BY_HAND = 1_000
"""Of one debate: the judgments that count in no experiment."""


class JudgeKind(StrEnum):
    """Who gave a judgment."""

    WORKER = "worker"  # a worker's player, which was asked for it
    PERSON = "person"  # the operator, or a guest with an invitation
    AGENT = "agent"  # with its key


PERSON = f"{JudgeKind.PERSON}:"
AGENT = f"{JudgeKind.AGENT}:"
"""Prefixes of the names of judges that are no workers', so that no two judges of different kinds share a name."""


def kind_in_name(judge: str) -> JudgeKind:
    """Of a judgment that is imported: nothing else in the file says it."""
    return next((kind for kind in JudgeKind if judge.startswith(f"{kind}:")), JudgeKind.WORKER)


class JudgmentStatus(StrEnum):
    PLANNED = "planned"  # a worker will make it, or is making it
    COMPLETED = "completed"
    FAILED = "failed"  # the judge gave up; `error` says why. It counts as missing, never as a tie


@dataclass(frozen=True, slots=True)
class Judge:
    """A worker's judge, and how often it is asked about each debate."""

    name: str
    setup: SeatSetup
    orders: JudgeOrder = JudgeOrder.AS_SPOKEN
    repeats: int = 1
    beliefs: bool = False
    """Before the first speech, after each round, and of the whole."""
    through_round: int | None = None
    """Of the debate up to this round; None of all of it."""

    def keys(self, has_two_orders: bool, rounds: int = 0) -> list[JudgmentKey]:
        """Its judgments of a debate of so many rounds that has two orders, or one."""
        orders, parts = self.orders.asked(has_two_orders), (*range(rounds), None)
        return [
            JudgmentKey(self.name, order, repeat, through_round)
            for repeat in range(1, self.repeats + 1)
            for order in orders
            for through_round in (parts if self.beliefs else (self.through_round,))
        ]


@dataclass(frozen=True, slots=True)
class Judgment:
    id: UUID
    debate_id: UUID
    key: JudgmentKey
    setup: SeatSetup
    status: JudgmentStatus
    verdict: Verdict | None = None
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    prompts_hash: str | None = None
    """Of the prompts that a model was instructed with."""
    experiment_id: UUID | None = None
    """The experiment that it counts in; None of one that another caller requested or gave."""
    created_at: datetime | None = None
    judged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JudgmentClaim:
    judgment: Judgment
    token: UUID
    attempts: int
    share: str

    @property
    def id(self) -> UUID:
        return self.judgment.id

    @property
    def recorded_claim(self) -> UUID | None:
        """Under which its calls are recorded; None of a judge that calls no model."""
        return None if self.judgment.setup.player == SCRIPTED else self.token


def brief_for(debate: Debate, motion: Turn, turns: tuple[Turn, ...], setup: SeatSetup, key: JudgmentKey) -> Brief:
    """What a judge is shown: the debate, or its beginning, without what other judges said of it, as if the closing
    ruling were its to give. The debate's own limits are not the judge's."""
    shown = [turn for turn in _through(turns, key.through_round) if turn.type is not TurnType.RULING]
    last_round = max((turn.round or 1 for turn in shown), default=1)
    judged = debate.evolve(
        status=Status.RUNNING,
        cursor=Cursor(last_round, Seat.ARBITRATOR),
        seats={**debate.seats, Seat.ARBITRATOR: replace(setup, judge_order=key.order.value, early_stop=False)},
        limits=Limits(max_rounds=last_round),
        intervention_open=False,
        interrupted=None,
        past_deadline=False,
        verdict=None,
        standing=None,
        closing=StopReason.MAX_ROUNDS,
    )
    return Brief(judged, motion, tuple(shown), judgment=key)


def _through(turns: Sequence[Turn], last_round: int | None) -> Iterable[Turn]:
    """The turns up to the first one of a later round. A turn outside the rounds belongs to those before it."""
    if last_round is None:
        return turns
    return takewhile(lambda turn: turn.round is None or turn.round <= last_round, turns)


def refuse_later_round(through_round: int | None, rounds: int) -> None:
    if through_round is not None and through_round > rounds:
        raise InvalidInput(
            "through_round", f"the last round of the debate is {rounds}: give 0 to {rounds}, or leave it out"
        )


def require_finished(debate: Debate) -> None:
    if not debate.is_closed:
        raise ActionNotAllowed(
            "Only a closed debate can be judged",
            current_state=debate.state.value,
            allowed_roles=[],
            suggestion="Wait until the debate is closed, or rule in it as its arbitrator",
        )
