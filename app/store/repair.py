"""Corrects the cursors that differ from what the turns of their debate imply (`app.core.claims.reconciled`)."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, case, func, select, text, update
from sqlalchemy.engine import RowMapping

from app.core.claims import reconciled
from app.core.debate import Debate, TurnType
from app.core.machine import PlannedTurn
from app.core.seats import Seat
from app.store.rows import debate_columns, debate_of, debate_row
from app.store.tables import debates, is_started

_CURSOR = ("next_round", "next_actor", "intervention_open", "interrupted_actor", "turn_count", "share")
# From the last turn with a round on: what was said before it does not change the cursor.
_TURNS = text("""
SELECT debate_id, seq, round, actor, type FROM turns
WHERE debate_id = ANY(:ids) AND seq >= (
    SELECT max(placed.seq) FROM turns AS placed WHERE placed.debate_id = turns.debate_id AND placed.round IS NOT NULL)
ORDER BY debate_id, seq
""")


@dataclass(frozen=True, slots=True)
class CursorRepair:
    debate_id: UUID
    title: str
    was: str
    now: str


def repair_cursors(connection: Connection, after: UUID, at_most: int) -> tuple[list[CursorRepair], UUID | None]:
    """Of the debates with the next ids. Returns what was wrong, and the last id; None when there are no more."""
    query = select(*debate_columns).where(debates.c.id > after).order_by(debates.c.id).limit(at_most).with_for_update()
    rows = connection.execute(query).mappings().all()
    if not rows:
        return [], None
    turns: defaultdict[UUID, list[Row[Any]]] = defaultdict(list)
    for turn in connection.execute(_TURNS, {"ids": [row["id"] for row in rows]}):
        turns[turn.debate_id].append(turn)
    compared = [_compared(row, turns[row["id"]]) for row in rows]
    wrong = [(before, now) for before, now in compared if before and now and before is not now]
    for _, now in wrong:
        _save(connection, now)
    repaired = [CursorRepair(before.id, before.title, _words(before), _words(now)) for before, now in wrong]
    return repaired, rows[-1]["id"]


def _compared(row: RowMapping, turns: list[Row[Any]]) -> tuple[Debate, Debate] | tuple[None, None]:
    """The debate as stored, and with the cursor that its turns imply. None if it is unreadable: its worker fails it."""
    try:
        debate = debate_of(row)
        return debate, reconciled(debate, [_planned(turn) for turn in turns])
    except (ValueError, KeyError, TypeError):
        return None, None


def _planned(turn: Row[Any]) -> PlannedTurn:
    return PlannedTurn(turn.seq, turn.round, Seat.of_actor(turn.actor), TurnType(turn.type), content="", player="")


def _save(connection: Connection, debate: Debate) -> None:
    """Ends the claim on the old cursor; a worker then claims the debate and schedules the rest."""
    row, now = debate_row(debate), func.clock_timestamp()
    ended = dict.fromkeys(("claim_token", "claimed_by"))
    due = case((debates.c.status.in_(("created", "running")) & is_started, now))
    values = {**{name: row[name] for name in _CURSOR}, **ended, "due_at": due, "updated_at": now}
    connection.execute(update(debates).where(debates.c.id == debate.id).values(values))


def _words(debate: Debate) -> str:
    is_open = ", intervention open" if debate.intervention_open else ""
    return f"round {debate.cursor.round}, {debate.cursor.seat.actor}, {debate.turn_count} turns{is_open}"
