"""Judgments: opinions of finished debates, apart from the debates. A debate can be judged again, by others, later."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.core.brief import Brief, JudgmentKey
from app.core.debate import Cursor, Debate, Limits, Status, Turn, TurnType, Usage
from app.core.errors import ActionNotAllowed
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

    def keys(self, has_two_orders: bool) -> list[JudgmentKey]:
        """Its judgments of a debate that has two orders, or one."""
        orders = self.orders.asked(has_two_orders)
        return [JudgmentKey(self.name, order, repeat) for repeat in range(1, self.repeats + 1) for order in orders]


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
    """The experiment that it counts in; None of one that somebody else asked for or gave."""
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
        """Under which its calls are recorded; None of a judge that calls nobody."""
        return None if self.judgment.setup.player == SCRIPTED else self.token


def brief_for(debate: Debate, motion: Turn, turns: tuple[Turn, ...], setup: SeatSetup, key: JudgmentKey) -> Brief:
    """What a judge is shown: the whole debate without what other judges said of it, as if the closing ruling were its
    to give. The debate's own limits are not the judge's."""
    last_round = max((turn.round or 1 for turn in turns), default=1)
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
    )
    shown = tuple(turn for turn in turns if turn.type is not TurnType.RULING)
    return Brief(judged, motion, shown, judgment=key)


def require_finished(debate: Debate) -> None:
    if not debate.is_closed:
        raise ActionNotAllowed(
            "Only a closed debate can be judged",
            current_state=debate.state.value,
            allowed_roles=[],
            suggestion="Wait until the debate is closed, or rule in it as its arbitrator",
        )
