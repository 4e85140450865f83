"""The input of a player (`Brief`) and its output (`Thought`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.core.debate import Debate, Evolving, Turn, TurnType, Usage
from app.core.players import JudgeOrder, SeatSetup
from app.core.quotes import Document
from app.core.seats import Seat
from app.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class JudgmentKey:
    """Which opinion of a finished debate: unique in the debate."""

    judge: str
    order: JudgeOrder
    repeat: int = 1
    through_round: int | None = None
    """How much of the debate it is of: 0 is nothing, None all of it."""
    id: UUID | None = field(default=None, compare=False)
    """Of the judgment, where it is stored."""


@dataclass(frozen=True, slots=True)
class Brief:
    debate: Debate
    motion: Turn
    turns: tuple[Turn, ...]
    """The last turns, oldest first; never the motion. A claim brings a few, however long the debate is; a model's
    prompt is made from all of them (`app.usecases.advance.with_all_turns`)."""
    judgment: JudgmentKey | None = None
    """Set for a judgment of a closed debate: nothing is streamed, and the answer is not stored as a turn."""
    document: Document | None = None
    """Of the debate, for looking up quotes; `shown_document` is what the player may see of it."""
    claim: UUID | None = field(default=None, compare=False)
    """The token under which a worker thinks: calls to models are recorded with it. Not part of the prompt."""

    @property
    def seat(self) -> Seat:
        return self.debate.cursor.seat

    @property
    def setup(self) -> SeatSetup:
        return self.debate.floor

    @property
    def shown_document(self) -> str | None:
        material = self.debate.material
        is_shown = self.document is not None and material is not None and material.shows_document_to(self.seat)
        return self.document.text if self.document and is_shown else None

    @property
    def shown_document_hash(self) -> str | None:
        return self.debate.material.document_hash if self.debate.material and self.shown_document else None

    @property
    def is_whole(self) -> bool:
        """Whether it has all turns that the player may be shown. (A judgment's has them, without the rulings.)"""
        return self.judgment is not None or len(self.turns) >= self.debate.turn_count - 1

    @property
    def recent(self) -> tuple[Turn, ...]:
        """The turns that the player is shown: in a simultaneous round not those of other debaters in it."""
        cursor, schedule = self.debate.cursor, self.debate.schedule
        is_hidden = schedule.round(cursor.round, self.debate.limits.max_rounds).simultaneous
        if not is_hidden or cursor.seat is Seat.ARBITRATOR:
            return self.turns
        return tuple(turn for turn in self.turns if turn.round != cursor.round or turn.seat is Seat.ARBITRATOR)

    @property
    def asks(self) -> bool:
        """The player asks a question now. A judge that asks does not rule yet."""
        return self.debate.asks

    @property
    def rules(self) -> bool:
        """The judge rules now."""
        return self.seat is Seat.ARBITRATOR and not self.asks

    @property
    def weighs_every_round(self) -> bool:
        """The judge rules now, once for all rounds."""
        return self.rules and self.debate.schedule.rules_once

    @property
    def may_choose_its_move(self) -> bool:
        """Only the proposer can call the judge, so it may appeal or end the debate instead of arguing on."""
        is_free = self.debate.schedule.judge_is_called and not self.asks and self.debate.may_appeal
        return is_free and self.seat is Seat.PROPOSER

    @property
    def judgment_id(self) -> UUID | None:
        return self.judgment.id if self.judgment else None

    def last_turn_of(self, seat: Seat) -> Turn | None:
        return next((turn for turn in reversed(self.recent) if turn.seat is seat), None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a model was sent in one call, and what it answered. Never with a key in it."""

    system: str
    messages: tuple[Mapping[str, Any], ...]
    """`role` and `content` of each."""
    settings: Mapping[str, Any]
    model: str
    """The model's name as the provider reports it."""
    answer: str
    """The raw answer, before it was parsed."""
    request_id: str | None = None
    """The provider's id of the call."""
    judge_order: str | None = None
    """Where a judge was asked in both orders: in which of them."""
    document_hash: str | None = None
    """Of the document of the debate's material, if the model was shown it."""


@dataclass(frozen=True)
class Thought(Evolving):
    type: TurnType
    content: str
    verdict: Verdict | None = None
    close: bool = False
    usage: Usage = field(default_factory=Usage)
    exchanges: tuple[Exchange, ...] = ()
    prompts_hash: str | None = None
    """Of the prompts that a model was instructed with."""
