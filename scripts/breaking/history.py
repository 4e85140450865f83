"""What must be true of every debate after a run, whatever was broken meanwhile.

`read` takes the histories from the database; `violations` checks one of them and what clients saw of it: the
submissions that were answered with success, and the turns that each watcher received.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from app.core.debate import Cursor, TurnType
from app.core.machine import PlannedTurn, implied_cursor
from app.core.players import model_of
from app.core.retry import MAX_ATTEMPTS, MAX_PATIENT_ATTEMPTS
from app.core.seats import Seat
from app.store.claimed_rows import readable_columns
from app.store.rows import SCHEDULE_OF_DEBATE, schedule_of
from app.store.tables import debates

_COLUMNS = ", ".join(column.name for column in readable_columns(debates))
_DEBATES = f"SELECT {_COLUMNS}, {SCHEDULE_OF_DEBATE} AS schedule FROM debates"  # noqa: S608
ENDED = frozenset({"completed", "stopped", "failed"})
CLOSED = frozenset({"completed", "stopped"})
LEAVES_A_VERDICT = frozenset({"time_limit", "token_limit", "cost_limit"})


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


LEAST_TOKENS_OF_A_CALL = 120
LEAST_COST_OF_A_CALL = 2.7e-5
"""What the hostile provider counts for a call that it answers. What it does not count is guessed, and is more."""


@dataclass(frozen=True)
class ModelCalls:
    """The calls that a provider got for one debate, and what may have repeated some of them."""

    answered: int
    """Those that are paid for, also where the answer was nonsense or came never."""
    refused: int
    """With an HTTP error: an attempt that costs nothing."""
    put_off: int
    """With a wait that is waited for: many of these make one attempt."""
    resumes: int
    """How often a person may have begun the attempts anew."""
    interruptions: int
    """How many calls may have been repeated because no worker could store their results: a worker was killed, ended or
    frozen, the database was unavailable, or a person paused the debate."""


@dataclass
class History:
    debate: dict[str, Any]
    turns: list[dict[str, Any]]
    acknowledged: list[Acknowledged] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    calls: ModelCalls | None = None
    """None where no model has a seat."""

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
        if self.calls:
            lines.append(f"  limits {debate['limits']}, {self.calls}")
        for received in self.received:
            lines.append(f"  {received.watcher} received {[seq for seq, _ in received.turns]}")
        return "\n".join(lines)


def read(database_url: str) -> dict[UUID, History]:
    with psycopg.connect(database_url, row_factory=dict_row) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        histories = {row["id"]: History(row, []) for row in connection.execute(_DEBATES)}
        for turn in connection.execute("SELECT * FROM turns ORDER BY debate_id, seq"):
            histories[turn["debate_id"]].turns.append(turn)
    return histories


def first_violation(histories: Iterable[History]) -> str | None:
    """A description, with the history that shows it; None if there is none."""
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
    requests = [
        (turn["agent_id"] or turn["actor"], turn["client_request_id"])
        for turn in history.turns
        if turn["client_request_id"] is not None
    ]
    yield from (f"two turns for one request: {request}" for request in _doubled(requests))


def _cursor_follows_from_turns(history: History) -> Iterable[str]:
    debate = history.debate
    if debate["turn_count"] != len(history.turns):
        yield f"turn_count is {debate['turn_count']} and there are {len(history.turns)} turns"
    implied = _implied(debate, history.turns)
    if implied is None:
        return
    cursor, interrupted = implied
    # After a limit the judge still rules, which the number of turns does not show.
    actor = Seat.ARBITRATOR.actor if debate["closing"] else cursor.seat.actor
    written = (debate["next_round"], debate["next_actor"])
    if written != (cursor.round, actor):
        yield f"the cursor is {written}, and the turns imply {(cursor.round, actor)}"
    is_open = interrupted is not None and not debate["closing"]
    if debate["status"] not in CLOSED and debate["intervention_open"] != is_open:
        yield f"intervention_open is {debate['intervention_open']}, and the turns imply {is_open}"


def _everything_ended(history: History) -> Iterable[str]:
    debate = history.debate
    if debate["status"] not in ENDED:
        yield f"the debate has not ended: it is {debate['status']}"
    elif debate["claim_token"] is not None:
        yield "the debate has ended and is still claimed"


def _order_of_speaking(history: History) -> Iterable[str]:
    """Every turn is where the turns before it put the cursor, and its seat was the one that could take it."""
    for position, turn in enumerate(history.turns):
        if position == 0:
            if turn["type"] != TurnType.MOTION:
                yield f"the first turn is {turn['type']}"
            continue
        if turn["type"] == TurnType.INTERVENTION:
            if turn["round"] is not None or turn["actor"] != Seat.ARBITRATOR.actor:
                yield f"turn {turn['seq']} is an intervention with a round, or not by the arbitrator"
            continue
        before = _implied(history.debate, history.turns[:position])
        if before is None:
            continue
        expected, interrupted = before
        round_ = None if interrupted and not _has_a_round(history.debate) else expected.round
        if (turn["round"], turn["actor"]) == (round_, expected.seat.actor):
            continue
        if not _is_closing_ruling(history, turn, expected.round):
            yield f"turn {turn['seq']} is out of order: the cursor was at {(round_, expected.seat.actor)}"


def _implied(debate: dict[str, Any], turns: Sequence[dict[str, Any]]) -> tuple[Cursor, Seat | None] | None:
    planned = [_planned(turn) for turn in turns]
    return implied_cursor(
        schedule_of(debate["format"], debate["schedule"]), debate["limits"].get("max_rounds"), planned
    )


def _has_a_round(debate: dict[str, Any]) -> bool:
    return schedule_of(debate["format"], debate["schedule"]).intervention_ends_round


def _is_closing_ruling(history: History, turn: dict[str, Any], round_: int) -> bool:
    """The last turn, by the judge, after a limit had ended the speeches."""
    is_last = turn is history.turns[-1] and turn["type"] == TurnType.RULING
    return is_last and turn["round"] == round_ and history.debate["stop_reason"] in LEAVES_A_VERDICT


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


def _no_call_beyond_the_limits(history: History) -> Iterable[str]:
    """Each turn has its attempts, and so has one that was never stored; a resume begins them anew. An attempt is one
    call, but for those that were interrupted. And no call begins once a limit of tokens or money is reached."""
    calls = history.calls
    if calls is None:
        return
    turns = sum(model_of(turn["player"]) is not None for turn in history.turns)
    chains = turns + 1 + calls.resumes
    made, most = calls.answered + calls.refused, MAX_ATTEMPTS * chains + calls.interruptions
    if made > most:
        yield f"{made} calls to a model, and the attempts allow {most}"
    most = MAX_PATIENT_ATTEMPTS * chains + calls.interruptions
    if calls.put_off > most:
        yield f"{calls.put_off} calls were put off by the provider, and the attempts allow {most}"
    limits = history.debate["limits"]
    for name, least in (("max_total_tokens", LEAST_TOKENS_OF_A_CALL), ("max_cost_usd", LEAST_COST_OF_A_CALL)):
        if name in limits:
            # A ruling that follows a limit may pass the limit of tokens.
            closing = name == "max_total_tokens" and history.debate["stop_reason"] in LEAVES_A_VERDICT
            most = math.ceil(limits[name] / least) + calls.interruptions + (MAX_ATTEMPTS if closing else 0)
            if calls.answered > most:
                yield f"{calls.answered} calls were paid for, and {name} of {limits[name]} allows {most}"


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
    _no_call_beyond_the_limits,
)
