"""Imports debates that took place elsewhere: their transcripts, judgments and, as an experiment, their matches."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog

from app.core.access import Action, Caller, holder_id, require
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Turn, TurnType
from app.core.errors import Conflict, InvalidInput
from app.core.imports import ImportedDebate, ImportedMaterial, TextLimits, in_line
from app.core.judgments import kind_in_name
from app.core.material import Material
from app.core.players import EXTERNAL, SeatSetup
from app.core.quotes import Document, Quote, checked_quotes
from app.core.seats import Seat
from app.store import imports, materials
from app.store.engine import Connection
from app.store.ids import new_id, new_turn_id
from app.store.rows import debate_row, setup_row, turn_row, verdict_row
from app.usecases.documents import DEBATERS, NewMaterial, material_of
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Imported:
    added: int
    known: int
    """How many were imported before."""
    debates: Mapping[str, UUID]
    """By their names in the file."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A debate with what it is known by here."""

    given: ImportedDebate
    id: UUID
    key: str | None
    """Names it among the caller's requests, so that a second import finds it; None where none will."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Packed, by kind."""

    of_kind: Mapping[str, Sequence[str]]
    documents: Sequence[str]


def keyed(debates: Sequence[ImportedDebate], created_by: str, experiment: str | None = None) -> list[Keyed]:
    """The ids follow from the content: a debate that was imported before has the same one only if it says the same."""
    found, lines = [], dict[str, int]()
    for each in debates:
        if (line := lines.setdefault(each.id, each.line)) != each.line:
            with in_line(each.line):
                raise InvalidInput("id", f"{each.id!r} is also the id of line {line}")
        key = f"import:{json.dumps([experiment, each.id])}"
        found.append(Keyed(each, uuid5(NAMESPACE_URL, json.dumps([created_by, key, each.content_hash])), key))
    return found


def text_limits(services: Services) -> TextLimits:
    return TextLimits(services.settings.max_content_length, services.settings.max_document_length)


@repeated_on_conflict
def import_debates(services: Services, caller: Caller, debates: Sequence[ImportedDebate]) -> Imported:
    require(caller, Action.CREATE)
    created_by = holder_id(caller)
    given = services.run_aside(lambda: keyed(debates, created_by))
    with services.engine.statements() as connection:
        new = unknown(connection, created_by, given)
    rows = services.run_aside(lambda: rows_of(new, created_by))
    with transaction(services, caller) as connection:
        require_new(connection, created_by, new)
        add(connection, rows)
    log.info("debates.imported", added=len(new), known=len(given) - len(new), by=caller.name)
    return Imported(len(new), len(given) - len(new), {one.given.id: one.id for one in given})


def unknown(connection: Connection, created_by: str, given: Sequence[Keyed]) -> list[Keyed]:
    """Those that were not imported before. Refuses one that was imported with other content."""
    known = imports.known(connection, created_by, [one.key for one in given if one.key])
    for one in given:
        if one.key in known and known[one.key] != one.id:
            raise Conflict(
                f"line {one.given.line}, id: {one.given.id!r} was imported before with other content",
                suggestion="Give the line another id, or delete the imported debate first",
                line=one.given.line,
                field="id",
                debate_id=str(known[one.key]),
            )
    return [one for one in given if one.key not in known]


def require_new(connection: Connection, created_by: str, new: Sequence[Keyed]) -> None:
    """Locks this caller's imports. Refuses where one has stored some of these since they were looked up."""
    imports.lock(connection, created_by)
    if len(unknown(connection, created_by, new)) != len(new):
        raise Conflict("Another request has imported some of these debates meanwhile", suggestion="Send it again")


def add(connection: Connection, rows: Rows) -> None:
    materials.note(connection, rows.documents)
    for kind in imports.STATEMENTS:
        for part in rows.of_kind.get(kind, ()):
            imports.add(connection, kind, part)


def rows_of(
    debates: Sequence[Keyed],
    created_by: str,
    experiment_id: UUID | None = None,
    more: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Rows:
    """`more` are rows of other kinds. Pure, and long: it runs aside."""
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        "debates": (_debate_row(one, created_by, experiment_id) for one in debates),
        "turns": chain.from_iterable(map(partial(_turns, _prepared_once()), debates)),
        "judgments": chain.from_iterable(_judgments(one, experiment_id) for one in debates),
        **(more or {}),
    }
    documents = sorted({one.given.material.document or "" for one in debates} - {""})
    return Rows({kind: list(imports.packed(each)) for kind, each in rows.items()}, documents)


def _prepared_once() -> Callable[[str], Document]:
    """Prepares each document once, however many debates have it."""
    known: dict[str, Document] = {}

    def prepared(text: str) -> Document:
        if text not in known:
            known[text] = Document(text)
        return known[text]

    return prepared


def _debate_row(one: Keyed, created_by: str, experiment_id: UUID | None) -> dict[str, Any]:
    given = one.given
    debate = Debate(
        id=one.id,
        title=given.title,
        debate_type="general_debate",
        schedule=given.schedule,
        status=Status.COMPLETED,
        stop_reason=StopReason.MAX_ROUNDS,
        cursor=Cursor(given.last_round + 1, Seat.ARBITRATOR),
        seats={seat: SeatSetup(given.player_of(seat)) for seat in Seat},
        limits=Limits(max_rounds=max(1, given.last_round)),
        turn_count=1 + len(given.turns),
        imported=True,
        material=_material(given.material),
        tags=given.tags,
        experiment_id=experiment_id,
    )
    # No worker claims it, so it has no share of their capacity.
    closed = {"share": "", "created_by": created_by, "client_request_id": one.key}
    return {**setup_row(debate), **debate_row(debate), **closed}


def _material(given: ImportedMaterial) -> Material | None:
    if given == ImportedMaterial():
        return None
    return material_of(NewMaterial(given.document, given.visible_to, given.answers, given.correct))


def _turns(prepared: Callable[[str], Document], one: Keyed) -> Iterator[dict[str, Any]]:
    motion = Turn(new_turn_id(), one.id, 1, 0, Seat.PROPOSER, TurnType.MOTION, one.given.motion, EXTERNAL)
    yield {**turn_row(motion), "created_at": None}
    document = one.given.material.document
    for seq, turn in enumerate(one.given.turns, 2):
        quotes: tuple[Quote, ...] = ()
        if document is not None and turn.seat in DEBATERS:
            quotes = checked_quotes(turn.content, prepared(document))
        player = one.given.player_of(turn.seat)
        stored = Turn(new_turn_id(), one.id, seq, turn.round, turn.seat, turn.type, turn.content, player, quotes=quotes)
        yield {**turn_row(stored), "created_at": turn.created_at}


def _judgments(one: Keyed, experiment_id: UUID | None) -> Iterator[dict[str, Any]]:
    # Judgments are listed by their ids, and those of one millisecond are in no order.
    ids = sorted(new_id() for _ in one.given.judgments)
    for judgment_id, opinion in zip(ids, one.given.judgments, strict=True):
        yield {
            "id": judgment_id,
            "debate_id": one.id,
            "judge": opinion.judge,
            "judge_kind": kind_in_name(opinion.judge).value,
            "order": opinion.order.value,
            "repeat": opinion.repeat,
            "through_round": opinion.through_round,
            "setup": {"player": opinion.player},
            "verdict": verdict_row(opinion.verdict),
            "cost_usd": opinion.cost_usd,
            "experiment_id": experiment_id,
            "judged_at": opinion.judged_at,
        }
