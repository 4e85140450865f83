"""What must be true of every debate after a run, whatever was broken meanwhile.

`read` takes the histories from the database; `violations` looks at one of them and at what was seen of it from outside:
the submissions that were answered with success, and the turns that each watcher received.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from app.core.debate import TurnType
from app.core.formats import Format
from app.core.machine import PlannedTurn, implied_cursor
from app.core.seats import Seat

ENDED = frozenset({"completed", "stopped", "failed"})
CLOSED = frozenset({"completed", "stopped"})


@dataclass(frozen=True)
class Acknowledged:
    """A submission that the API said it has stored."""

    client_request_id: str
    turn_id: str


@dataclass(frozen=True)
class Received:
    """What one watcher got, in the order in which it got it, over all its connections."""

    watcher: str
    turns: Sequence[tuple[int, str]]
    """(seq, turn id)"""
    to_the_end: bool = True
    """It was still watching when the debate ended."""


@dataclass
class History:
    debate: dict[str, Any]
    turns: list[dict[str, Any]]
    acknowledged: list[Acknowledged] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    def __str__(self) -> str:
        debate = self.debate
        lines = [
            f"debate {debate['id']} ({debate['format']}, {debate['status']}, {debate['stop_reason'] or 'open'}):"
            f" cursor round {debate['next_round']} {debate['next_actor']}, {debate['turn_count']} turns,"
            f" attempts {debate['attempts']}, last error {debate['last_error']!r}"
        ]
        for turn in self.turns:
            place = "-" if turn["round"] is None else turn["round"]
            lines.append(
                f"  {turn['seq']:>4}  round {place} {turn['actor']:<9} {turn['type']:<12} {turn['player']:<10}"
                f" {turn['id']} {turn['client_request_id'] or ''}"
            )
        for received in self.received:
            lines.append(f"  {received.watcher} received {[seq for seq, _ in received.turns]}")
        return "\n".join(lines)


def read(database_url: str) -> dict[UUID, History]:
    with psycopg.connect(database_url, row_factory=dict_row) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        histories = {row["id"]: History(row, []) for row in connection.execute("SELECT * FROM debates")}
        for turn in connection.execute("SELECT * FROM turns ORDER BY debate_id, seq"):
            histories[turn["debate_id"]].turns.append(turn)
    return histories


def first_violation(histories: Iterable[History]) -> str | None:
    """In words, with the history that shows it; None if there is none."""
    for history in histories:
        for problem in violations(history):
            return f"{problem}\n{history}"
    return None


def violations(history: History) -> list[str]:
    return [problem for check in _CHECKS for problem in check(history)]


def _each_turn_once(history: History) -> Iterable[str]:
    seqs = [turn["seq"] for turn in history.turns]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"seq is not 1, 2, 3, …: {seqs}"
    if not seqs:
        yield "the debate has no motion"
    slots = [(turn["round"], turn["actor"]) for turn in history.turns if turn["round"] is not None]
    yield from (f"two turns for one slot: {slot}" for slot in _doubled(slots))
    requests = [turn["client_request_id"] for turn in history.turns if turn["client_request_id"] is not None]
    yield from (f"two turns for one request: {request}" for request in _doubled(requests))


def _cursor_follows_from_turns(history: History) -> Iterable[str]:
    debate = history.debate
    if debate["turn_count"] != len(history.turns):
        yield f"turn_count is {debate['turn_count']} and there are {len(history.turns)} turns"
    cursor, is_open = implied_cursor(Format(debate["format"]), [_planned(turn) for turn in history.turns])
    written = (debate["next_round"], debate["next_actor"])
    if written != (cursor.round, cursor.seat.actor):
        yield f"the cursor is {written}, and the turns imply {(cursor.round, cursor.seat.actor)}"
    if debate["status"] not in CLOSED and debate["intervention_open"] != is_open:
        yield f"intervention_open is {debate['intervention_open']}, and the turns imply {is_open}"


def _everything_ended(history: History) -> Iterable[str]:
    debate = history.debate
    if debate["status"] not in ENDED:
        yield f"the debate has not ended: it is {debate['status']}"
    elif debate["claim_token"] is not None:
        yield "the debate has ended and is still claimed"


def _order_of_speaking(history: History) -> Iterable[str]:
    """Every turn stands where the turns before it put the cursor, and its seat was the one that could take it."""
    form = Format(history.debate["format"])
    for position, turn in enumerate(history.turns):
        if position == 0:
            if turn["type"] != TurnType.MOTION:
                yield f"the first turn is {turn['type']}"
            continue
        if turn["type"] == TurnType.INTERVENTION:
            if turn["round"] is not None or turn["actor"] != Seat.ARBITRATOR.actor:
                yield f"turn {turn['seq']} is an intervention with a round, or not by the arbitrator"
            continue
        expected, _ = implied_cursor(form, [_planned(before) for before in history.turns[:position]])
        if (turn["round"], turn["actor"]) != (expected.round, expected.seat.actor):
            yield f"turn {turn['seq']} is out of order: the cursor was at {(expected.round, expected.seat.actor)}"


def _nothing_acknowledged_is_lost(history: History) -> Iterable[str]:
    stored = {turn["client_request_id"]: str(turn["id"]) for turn in history.turns}
    for said in history.acknowledged:
        if stored.get(said.client_request_id) != said.turn_id:
            found = stored.get(said.client_request_id)
            yield f"{said.client_request_id} was acknowledged as {said.turn_id} and is stored as {found}"


def _watchers_saw_all(history: History) -> Iterable[str]:
    stored = [(turn["seq"], str(turn["id"])) for turn in history.turns]
    for received in history.received:
        got = list(received.turns)
        expected = stored if received.to_the_end else stored[: len(got)]
        if got != expected:
            yield f"{received.watcher} did not receive every turn once and in order"


def _doubled(values: Iterable[Any]) -> list[Any]:
    seen: set[Any] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]


def _planned(turn: dict[str, Any]) -> PlannedTurn:
    return PlannedTurn(
        turn["seq"], turn["round"], Seat.of_actor(turn["actor"]), TurnType(turn["type"]), "", turn["player"]
    )


_CHECKS = (
    _each_turn_once,
    _cursor_follows_from_turns,
    _everything_ended,
    _order_of_speaking,
    _nothing_acknowledged_is_lost,
    _watchers_saw_all,
)
