"""Debates that took place elsewhere, each a JSON object in a line of a file."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.core.debate import TurnType
from app.core.errors import ContentTooLarge, InvalidInput
from app.core.judgments import MOST_REPEATS
from app.core.limits import MOST_ROUNDS
from app.core.players import EXTERNAL, JudgeOrder
from app.core.schedules import BUILT_IN, CONSULTANCY, DIRECT, FINAL_RULING, Schedule
from app.core.seats import Seat
from app.core.texts import checked_text
from app.core.verdicts import SIDES, TIE, Verdict, scores_for, why_contradictory

LONGEST_NAME = 200
LONGEST_TITLE = 200
MOST_TAGS = 20
LONGEST_TAG = 100
MOST_JUDGMENTS = 1_000
"""Of one debate."""
BYTES_PER_CHARACTER = 4
"""The most, in UTF-8."""
SPOKEN_BY = {
    Seat.PROPOSER: (TurnType.CLAIM, TurnType.QUESTION, TurnType.APPEAL, TurnType.RESOLUTION),
    Seat.OPPONENT: (TurnType.CLAIM, TurnType.QUESTION),
    Seat.ARBITRATOR: (TurnType.QUESTION, TurnType.RULING),
}
_FIELDS = (
    "id", "motion", "motion_id", "title", "arm", "format", "proposer", "opponent", "tags", "material", "turns",
    "judgments",
)  # fmt: skip
_MATERIAL = ("document", "visible_to", "answers", "correct")
_TURN = ("round", "role", "type", "content", "created_at")
_JUDGMENT = ("judge", "winner", "confidence", "scores", "order", "through_round", "repeat")


@dataclass(frozen=True, slots=True)
class TextLimits:
    """In bytes of UTF-8."""

    content: int
    document: int


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    round: int
    seat: Seat
    type: TurnType
    content: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class ImportedOpinion:
    judge: str
    order: JudgeOrder
    repeat: int
    verdict: Verdict
    through_round: int | None = None
    """The judge was shown the debate up to this round; None for the whole debate."""
    player: str = EXTERNAL
    cost_usd: float = 0.0
    judged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedMaterial:
    document: str | None = None
    visible_to: tuple[Seat, ...] | None = None
    answers: Mapping[str, str] | None = None
    correct: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedDebate:
    id: str
    """Its name in the imported file."""
    motion: str
    motion_id: str
    title: str
    arm: str
    schedule: Schedule
    proposer: str | None
    opponent: str | None
    turns: tuple[ImportedTurn, ...] = ()
    judgments: tuple[ImportedOpinion, ...] = ()
    tags: tuple[str, ...] = ()
    material: ImportedMaterial = ImportedMaterial()
    repeat: int = 1
    line: int = 1
    content_hash: str = ""
    """Of all that its line says."""

    @property
    def last_round(self) -> int:
        return max((turn.round for turn in self.turns), default=0)

    def player_of(self, seat: Seat) -> str:
        return {Seat.PROPOSER: self.proposer, Seat.OPPONENT: self.opponent}.get(seat) or EXTERNAL


@contextmanager
def in_line(number: int) -> Iterator[None]:
    """Adds the line to an error."""
    try:
        yield
    except (InvalidInput, ContentTooLarge) as problem:
        problem.message = f"line {number}, {problem.message}"
        problem.context["line"] = number
        raise


def debate_of(line: int, given: Any, limits: TextLimits) -> ImportedDebate:
    with in_line(line):
        return _debate_of(line, given, limits)


def _debate_of(line: int, given: Any, limits: TextLimits) -> ImportedDebate:
    row = _object("debate", given, _FIELDS, ("id", "motion", "turns"))
    motion = _text("motion", row["motion"], limits.content)
    turns = tuple(_turns(row["turns"], limits.content))
    last_round = max(turn.round for turn in turns)
    proposer, opponent = _name("proposer", row.get("proposer")), _name("opponent", row.get("opponent"))
    title = row.get("title")
    return ImportedDebate(
        id=_needed_name("id", row["id"]),
        motion=motion,
        motion_id=_name("motion_id", row.get("motion_id")) or motion_id_of(motion),
        title=title_of(motion) if title is None else _short("title", title, LONGEST_TITLE),
        arm=_name("arm", row.get("arm")) or "",
        schedule=_schedule(row.get("format"), {turn.seat for turn in turns}),
        proposer=proposer,
        opponent=opponent,
        turns=turns,
        judgments=tuple(_opinions(row.get("judgments"), last_round)),
        tags=_tags(row.get("tags")),
        material=_material(row.get("material"), limits),
        line=line,
        content_hash=hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest(),
    )


def title_of(motion: str) -> str:
    return " ".join(motion.split())[:LONGEST_TITLE]


def motion_id_of(motion: str) -> str:
    """Where the file has none: debates of the same words are of one motion."""
    if len(motion) <= LONGEST_NAME:
        return motion
    end = hashlib.sha256(motion.encode()).hexdigest()[:16]
    return f"{motion[: LONGEST_NAME - len(end) - 1]} {end}"


def _object(field: str, given: Any, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidInput(field, "must be an object")
    for name in given:
        if name not in known:
            unknown = name if field == "debate" else f"{field}.{name}"
            raise InvalidInput(unknown[:LONGEST_NAME], f"unknown field: there are {', '.join(known)}")
    for name in needed:
        if given.get(name) is None:
            raise InvalidInput(name if field == "debate" else f"{field}.{name}", "is missing")
    return given


def _list(field: str, given: Any, most: int) -> list[Any]:
    if not isinstance(given, list):
        raise InvalidInput(field, "must be a list")
    if len(given) > most:
        raise InvalidInput(field, f"has {len(given):,} items; the limit is {most:,}")
    return given


def _text(field: str, given: Any, max_bytes: int) -> str:
    if not isinstance(given, str):
        raise InvalidInput(field, "must be a text")
    return checked_text(field, given, max_bytes)


def _short(field: str, given: Any, longest: int) -> str:
    text = _text(field, given, BYTES_PER_CHARACTER * longest)
    if len(text) > longest:
        raise InvalidInput(field, f"has {len(text):,} characters; the limit is {longest}")
    return text


def _needed_name(field: str, given: Any) -> str:
    return _short(field, given, LONGEST_NAME)


def _name(field: str, given: Any) -> str | None:
    return None if given is None else _needed_name(field, given)


def _whole(field: str, given: Any, low: int, high: int) -> int:
    if type(given) is not int or not low <= given <= high:
        raise InvalidInput(field, f"must be a whole number from {low} to {high:,}")
    return given


def _one_of(field: str, given: Any, known: tuple[str, ...]) -> str:
    if not isinstance(given, str) or given not in known:
        raise InvalidInput(field, f"must be one of {', '.join(known)}")
    return given


def _number(field: str, given: Any, high: float) -> float:
    if type(given) not in (int, float) or not 0 <= given <= high:
        raise InvalidInput(field, f"must be a number from 0 to {high:g}")
    return float(given)


def _time(field: str, given: Any) -> datetime | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(field, "must be a time such as 2026-02-03T04:05:06Z") from None


def _schedule(given: Any, speakers: set[Seat]) -> Schedule:
    """The format need not fit the turns. Without one, the speakers determine it."""
    if given is not None:
        return BUILT_IN[_one_of("format", given, tuple(BUILT_IN))]
    debaters = speakers - {Seat.ARBITRATOR}
    return (DIRECT, CONSULTANCY, FINAL_RULING)[len(debaters)]


def _tags(given: Any) -> tuple[str, ...]:
    tags = _list("tags", given or [], MOST_TAGS)
    return tuple(dict.fromkeys(_short(f"tags[{number}]", tag, LONGEST_TAG) for number, tag in enumerate(tags)))


def _material(given: Any, limits: TextLimits) -> ImportedMaterial:
    if given is None:
        return ImportedMaterial()
    row = _object("material", given, _MATERIAL)
    document = row.get("document")
    if document is not None:
        _text("material.document", document, limits.document)
    answers, correct = row.get("answers"), row.get("correct")
    if answers is not None:
        _object("material.answers", answers, SIDES, SIDES)
        for side in SIDES:
            _text(f"material.answers.{side}", answers[side], limits.content)
    if correct is not None:
        _one_of("material.correct", correct, SIDES)
    return ImportedMaterial(document, _visible_to(row.get("visible_to"), document), answers, correct)


def _visible_to(given: Any, document: str | None) -> tuple[Seat, ...] | None:
    if given is None:
        return None
    field, roles = "material.visible_to", tuple(seat.role for seat in Seat)
    seats = {Seat(_one_of(f"{field}[{number}]", role, roles)) for number, role in enumerate(_list(field, given, 3))}
    if document is None:
        raise InvalidInput(field, "there is no document")
    if not seats:
        raise InvalidInput(field, "name at least one seat that sees the document")
    return tuple(seat for seat in Seat if seat in seats)


def _turns(given: Any, max_bytes: int) -> Iterator[ImportedTurn]:
    rows = _list("turns", given, MOST_ROUNDS * len(Seat))
    if not rows:
        raise InvalidInput("turns", "must have at least one turn")
    taken: set[tuple[int, Seat]] = set()
    last = 1
    for number, one in enumerate(rows):
        field = f"turns[{number}]"
        row = _object(field, one, _TURN, ("round", "role", "content"))
        round_ = _whole(f"{field}.round", row["round"], 1, MOST_ROUNDS)
        if round_ < last:
            raise InvalidInput(f"{field}.round", f"is {round_}, and an earlier turn is of round {last}")
        last = round_
        seat = Seat(_one_of(f"{field}.role", row["role"], tuple(seat.role for seat in Seat)))
        if (round_, seat) in taken:
            raise InvalidInput(f"{field}.role", f"the {seat.role} has two turns in round {round_}")
        taken.add((round_, seat))
        kind = TurnType.CLAIM if row.get("type") is None else row["type"]
        if kind not in SPOKEN_BY[seat]:
            raise InvalidInput(f"{field}.type", f"must be one of {', '.join(SPOKEN_BY[seat])} for the {seat.role}")
        content = _text(f"{field}.content", row["content"], max_bytes)
        yield ImportedTurn(round_, seat, TurnType(kind), content, _time(f"{field}.created_at", row.get("created_at")))


def _opinions(given: Any, last_round: int) -> Iterator[ImportedOpinion]:
    repeats: dict[tuple[str, JudgeOrder, int | None], set[int]] = {}
    for number, one in enumerate(_list("judgments", given or [], MOST_JUDGMENTS)):
        field = f"judgments[{number}]"
        row = _object(field, one, _JUDGMENT, ("judge", "winner"))
        judge = _needed_name(f"{field}.judge", row["judge"])
        order = row.get("order") or JudgeOrder.AS_SPOKEN.value
        order = JudgeOrder(_one_of(f"{field}.order", order, (JudgeOrder.AS_SPOKEN.value, JudgeOrder.SWAPPED.value)))
        through = row.get("through_round")
        if through is not None:
            _whole(f"{field}.through_round", through, 0, last_round)
        known = repeats.setdefault((judge, order, through), set())
        repeat = len(known) + 1
        if row.get("repeat") is not None:
            repeat = _whole(f"{field}.repeat", row["repeat"], 1, MOST_REPEATS)
        if repeat in known:
            raise InvalidInput(f"{field}.repeat", f"an earlier judgment of {judge!r} is its repeat {repeat}")
        known.add(repeat)
        yield ImportedOpinion(judge, order, repeat, _verdict(field, row), through)


def _verdict(field: str, row: Mapping[str, Any]) -> Verdict:
    winner = _one_of(f"{field}.winner", row["winner"], (*SIDES, TIE))
    confidence, given = row.get("confidence"), row.get("scores")
    if confidence is not None:
        confidence = _number(f"{field}.confidence", confidence, 1)
    scores = scores_for(winner)
    if given is not None:
        _object(f"{field}.scores", given, SIDES, SIDES)
        scores = {side: _number(f"{field}.scores.{side}", given[side], 10) for side in SIDES}
    verdict = Verdict(winner, scores, "Imported.", confidence=confidence)
    problem = why_contradictory(verdict)
    if problem:
        raise InvalidInput(f"{field}.scores", problem)
    return verdict
