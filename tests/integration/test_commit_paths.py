"""A turn is stored in one statement, or step by step where something is not as the worker knew it. Both leave the same
rows, and whatever happens at the same moment, a turn is stored once and in order, or not at all."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from claimed_debates import a_debate, claimed
from harness import Place, wait_until
from psycopg.rows import dict_row
from sqlalchemy import text

from app.bootstrap import build_services, close_services
from app.core.access import OPERATOR
from app.core.brief import Brief, Thought
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Turn, TurnType, Usage, Verdict
from app.core.formats import Format
from app.core.machine import Move, decide, implied_cursor
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.store import debates
from app.store.commit import Committer, NewTurn
from app.store.engine import DatabaseAway
from app.store.turns import TurnExists, insert_turns
from app.usecases import advance, control, read
from app.usecases.advance import HeldTurn
from app.usecases.services import Services
from app.usecases.submit import Submission, submit, turns_of
from worker.claims import ClaimKeeper
from worker.fairness import Fairness
from worker.runner import Runner

CLAIM = Thought(TurnType.CLAIM, "words", usage=Usage(30, 12, 0.25, 1400))
VERDICT = Verdict("opponent", {"proposer": 4.5, "opponent": 8}, 'Said "100 % sure" {twice}, naïve 🚗')
RULING = Thought(TurnType.RULING, "The opponent.", VERDICT, usage=Usage(5, 5))
CLOSING = replace(RULING, close=True)
SCRIPTED = {seat: SeatSetup("scripted") for seat in Seat}
CLAIM_SECONDS = 300.0
MAX_SECONDS = 5000.0
NO_END = Limits(max_rounds=100_000)


def planned(held: HeldTurn, thought: Thought) -> tuple[Turn, Debate]:
    """The one turn of this thought, and the debate after it."""
    move = Move(held.brief.seat, thought.type, thought.content, by_worker=True, usage=thought.usage)
    decision = decide(held.debate, move)
    [turn] = turns_of(held.debate, decision.turns, held.brief.motion)
    return turn, decision.debate


def assert_sound(services: Services, debate: Debate) -> tuple[Debate, list[Turn]]:
    """seq has no hole, no slot is taken twice, and the cursor is what the turns imply."""
    transcript = read.get_transcript(services, debate.id, None)
    after, turns = transcript.debate, [transcript.motion, *transcript.arguments]
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1))
    assert after.turn_count == len(turns)
    slots = [(turn.round, turn.seat) for turn in turns if turn.round is not None]
    assert len(slots) == len(set(slots))
    cursor, intervention_open = implied_cursor(after.format, turns)
    assert (after.cursor, after.intervention_open) == (cursor, intervention_open and not after.is_closed)
    return after, turns


def together(*calls: Callable[[], Any]) -> list[Any]:
    """All at the same moment; their answers, in order."""
    barrier = threading.Barrier(len(calls))

    def started(call: Callable[[], Any]) -> Any:
        barrier.wait(10)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(30) for future in [pool.submit(started, call) for call in calls]]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The debates whose commit had to look first: the step-by-step path."""
    seen: list[UUID] = []
    lock_claim = debates.lock_claim

    def counted(connection: Any, debate_id: UUID) -> Any:
        seen.append(debate_id)
        return lock_claim(connection, debate_id)

    monkeypatch.setattr(debates, "lock_claim", counted)
    return seen


# Both paths leave the same rows.


@dataclass(frozen=True)
class Case:
    name: str
    thoughts: list[Thought]
    """The last of them is compared; those before it lead to it."""
    leads_to: tuple[Status, StopReason | None]
    format: Format = Format.ROUNDS
    seats: dict[Seat, SeatSetup] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    before: Callable[[Services, Place, Debate], None] | None = None
    """What happened to the debate before its first turn."""


def it_failed_twice(services: Services, place: Place, debate: Debate) -> None:
    for _ in range(2):
        held = claimed(services, debate)
        advance.record_failure(services, held, "no answer", permanent=False, retry_after_seconds=None, jitter=0)
        place.sql("UPDATE debates SET next_attempt_at = now() WHERE id = %s", debate.id)


def it_was_paused(services: Services, place: Place, debate: Debate) -> None:
    advance.release(services, claimed(services, debate))
    control.pause_debate(services, OPERATOR, debate.id)
    control.resume_debate(services, OPERATOR, debate.id)


EXTERNAL = SeatSetup("external")
RUNNING = (Status.RUNNING, None)
TIMED = Limits(max_seconds=MAX_SECONDS)
CASES = [
    Case("the next seat is a worker's", [CLAIM], RUNNING),
    Case("the next seat is external", [CLAIM], RUNNING, seats={Seat.OPPONENT: EXTERNAL}),
    Case("the judge is external", [CLAIM, CLAIM], RUNNING, seats={Seat.ARBITRATOR: EXTERNAL}),
    Case("a verdict", [CLAIM, CLAIM, RULING], RUNNING),
    Case("the verdict of an earlier round stays", [CLAIM, CLAIM, RULING, CLAIM], RUNNING),
    Case("a ruling without a verdict", [CLAIM, CLAIM, Thought(TurnType.RULING, "Go on.")], RUNNING),
    Case(
        "the last round",
        [CLAIM, CLAIM, RULING],
        (Status.COMPLETED, StopReason.MAX_ROUNDS),
        limits=Limits(max_rounds=1),
    ),
    Case(
        "the last round, with a time limit",
        [CLAIM, CLAIM, RULING],
        (Status.COMPLETED, StopReason.MAX_ROUNDS),
        limits=Limits(max_rounds=1, max_seconds=MAX_SECONDS),
    ),
    Case("the judge ends it early", [CLAIM, CLAIM, CLOSING], (Status.COMPLETED, StopReason.JUDGE_EARLY_STOP)),
    Case("a time limit", [CLAIM], RUNNING, limits=TIMED),
    Case("a time limit and an external seat", [CLAIM], RUNNING, seats={Seat.OPPONENT: EXTERNAL}, limits=TIMED),
    Case("a time limit that was held", [CLAIM], RUNNING, limits=TIMED, before=it_was_paused),
    Case("all tokens used", [CLAIM], (Status.STOPPED, StopReason.TOKEN_LIMIT), limits=Limits(max_total_tokens=42)),
    Case("some tokens used", [CLAIM, CLAIM], RUNNING, limits=Limits(max_total_tokens=85)),
    Case(
        "all money used, with a time limit",
        [CLAIM, CLAIM],
        (Status.STOPPED, StopReason.COST_LIMIT),
        limits=Limits(max_cost_usd=0.5, max_seconds=MAX_SECONDS),
    ),
    Case("failures before it", [CLAIM], RUNNING, before=it_failed_twice),
    Case("failures before it, and a time limit", [CLAIM], RUNNING, limits=TIMED, before=it_failed_twice),
    Case("no usage to speak of", [Thought(TurnType.CLAIM, "words")], RUNNING),
    Case("strange words", [replace(CLAIM, content="%(x)s %s {y} '\";-- \\ \t\n né 🚗 \u2028")], RUNNING),
    Case("many words", [replace(CLAIM, content="words " * 50_000)], RUNNING),
    Case("dialogue: the next round", [CLAIM], RUNNING, Format.DIALOGUE, SCRIPTED),
    Case(
        "dialogue: the proposer is external", [CLAIM], RUNNING, Format.DIALOGUE, {Seat.OPPONENT: SeatSetup("scripted")}
    ),
    Case("dialogue: an appeal", [CLAIM, replace(CLAIM, type=TurnType.APPEAL)], RUNNING, Format.DIALOGUE, SCRIPTED),
    Case(
        "dialogue: an appeal to a person",
        [CLAIM, replace(CLAIM, type=TurnType.APPEAL)],
        RUNNING,
        Format.DIALOGUE,
        {**SCRIPTED, Seat.ARBITRATOR: EXTERNAL},
    ),
    Case(
        "dialogue: a ruling goes on",
        [CLAIM, replace(CLAIM, type=TurnType.APPEAL), RULING],
        RUNNING,
        Format.DIALOGUE,
        SCRIPTED,
    ),
    Case(
        "dialogue: a ruling that closes",
        [CLAIM, replace(CLAIM, type=TurnType.APPEAL), CLOSING],
        (Status.COMPLETED, StopReason.RULING),
        Format.DIALOGUE,
        SCRIPTED,
    ),
    Case(
        "dialogue: the last round",
        [CLAIM],
        (Status.COMPLETED, StopReason.MAX_ROUNDS),
        Format.DIALOGUE,
        SCRIPTED,
        Limits(max_rounds=1),
    ),
]


def before_the_last_thought(services: Services, place: Place, case: Case) -> HeldTurn:
    debate = a_debate(services, format=case.format, seats=case.seats, limits=case.limits)
    if case.before:
        case.before(services, place, debate)
    held = claimed(services, debate)
    for thought in case.thoughts[:-1]:
        following = advance.commit(services, held, thought, go_on=True)
        assert following is not None
        held = following
    # Whatever stands there, a commit writes all that it is to write.
    place.sql(
        "UPDATE debates SET next_attempt_at = now(), queued_at = now(), attempts = 3, last_error = 'left over',"
        " stop_note = 'left over' WHERE id = %s",
        debate.id,
    )
    return held


def rows_of(place: Place, debate: Debate) -> list[dict[str, Any]]:
    """The debate and its turns, every column, with what differs between twins put in words."""
    with psycopg.connect(str(place.settings.database_url), row_factory=dict_row) as connection:
        [row] = connection.execute("SELECT *, clock_timestamp() AS read_at FROM debates WHERE id = %s", [debate.id])
        turns = connection.execute("SELECT * FROM turns WHERE debate_id = %s ORDER BY seq", [debate.id]).fetchall()
    read_at = row.pop("read_at")
    seq_of = {turn["id"]: turn["seq"] for turn in turns}

    def in_words(name: str, value: Any) -> Any:
        if value is None:
            return None
        if name == "parent_id":
            return f"answers turn {seq_of[value]}"
        if name in ("id", "debate_id", "claim_token"):
            return "an id"
        if name.endswith("_at"):
            return when(value - read_at)
        if name == "client_request_id":
            return "the request's"
        return value

    due = {"due at the deadline": row["due_at"] is not None and row["due_at"] == row["deadline_at"]}
    return [{name: in_words(name, value) for name, value in found.items()} | due for found in (row, *turns)]


def when(distance: timedelta) -> str:
    """Near enough for a busy machine, and far enough from each other."""
    moments = {"now": 0.0, "when the claim lapses": CLAIM_SECONDS, "when the time is up": MAX_SECONDS}
    [found] = [name for name, at in moments.items() if abs(distance.total_seconds() - at) < 60]
    return found


@pytest.mark.parametrize("go_on", [True, False], ids=["going on", "handing over"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_paths_leave_the_same_rows(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch, case: Case, go_on: bool
) -> None:
    services = replace(services, settings=services.settings.with_changes(claim_seconds=CLAIM_SECONDS))
    in_one, in_steps = (before_the_last_thought(services, place, case) for _ in range(2))

    def must_not_look(*_: Any) -> None:
        raise AssertionError("the one statement was not enough")

    with monkeypatch.context() as patched:
        patched.setattr(debates, "lock_claim", must_not_look)
        after_one = advance.commit(services, in_one, case.thoughts[-1], go_on)
    with monkeypatch.context() as patched:
        patched.setattr(Committer, "store_turn", lambda *_: None)
        after_steps = advance.commit(services, in_steps, case.thoughts[-1], go_on)

    one, steps = rows_of(place, in_one.debate), rows_of(place, in_steps.debate)
    assert one == steps
    assert (one[0]["status"], one[0]["stop_reason"]) == tuple(part and part.value for part in case.leads_to)
    assert len(one) == 2 + len(case.thoughts)
    assert_sound(services, in_one.debate)
    assert (after_one is None) == (after_steps is None)
    for debate, after in ((in_one.debate, after_one), (in_steps.debate, after_steps)):
        [(token, updated_at)] = place.sql("SELECT claim_token, updated_at FROM debates WHERE id = %s", debate.id)
        assert token == (after and after.token)
        assert after is None or after.debate.updated_at == updated_at


def test_two_turns_at_once_go_step_by_step(services: Services, looks: list[UUID]) -> None:
    debate = a_debate(services, format=Format.DIALOGUE, seats=SCRIPTED)
    held = advance.commit(services, claimed(services, debate), CLAIM, go_on=True)
    assert held is not None
    assert looks == []
    assert advance.commit(services, held, Thought(TurnType.RESOLUTION, "We agree."), go_on=True) is None
    assert looks == [debate.id]
    after, turns = assert_sound(services, debate)
    assert (after.status, after.stop_reason) == (Status.COMPLETED, StopReason.RESOLUTION)
    assert [turn.type for turn in turns[2:]] == [TurnType.RESOLUTION, TurnType.RULING]


def test_time_that_runs_out_while_a_player_thinks_stops_the_debate_and_keeps_the_turn(
    services: Services, place: Place, looks: list[UUID]
) -> None:
    debate = a_debate(services, limits=TIMED)
    held = advance.commit(services, claimed(services, debate), CLAIM, go_on=True)
    assert held is not None
    place.sql("UPDATE debates SET deadline_at = clock_timestamp() WHERE id = %s", debate.id)
    assert looks == []
    assert advance.commit(services, held, CLAIM, go_on=True) is None
    assert looks == [debate.id], "it had to look first"
    after, turns = assert_sound(services, debate)
    assert (after.status, after.stop_reason) == (Status.STOPPED, StopReason.TIME_LIMIT)
    assert [turn.seat for turn in turns] == [Seat.PROPOSER, Seat.PROPOSER, Seat.OPPONENT]
    assert place.sql("SELECT due_at, queued_at, claim_token FROM debates") == [(None, None, None)]


def test_a_debate_deleted_meanwhile_takes_no_turn(services: Services, place: Place, debate: Debate) -> None:
    turn, after = planned(claimed(services, debate), CLAIM)
    control.delete_debate(services, OPERATOR, debate.id)
    assert services.committer.store_turn(NewTurn(UUID(int=1), turn, after)) is None
    assert place.sql("SELECT count(*) FROM turns") == [(0,)]


# At the same moment.


@pytest.fixture
def debate(services: Services) -> Debate:
    return a_debate(services)


def test_keeping_claims_alive_never_costs_a_turn(services: Services) -> None:
    rounds, renewers = 12, 4
    made = [a_debate(services, limits=Limits(max_rounds=rounds)) for _ in range(8)]
    held = {debate.id: claimed(services, debate) for debate in made}
    done = threading.Event()
    all_are_at_it = threading.Barrier(renewers + 1)

    def keep_alive(mine: list[Debate]) -> int:
        """A worker's keep-alive, but without a pause. It may well hold a token that was just spent."""
        renewed = 0
        while not done.is_set():
            is_first = renewed == 0
            renewed += len(advance.renew_claims(services, [(debate.id, held[debate.id].token) for debate in mine]))
            if is_first:
                all_are_at_it.wait(30)
        return renewed

    def take_all_turns(debate: Debate) -> int:
        taken = 0
        turn: HeldTurn | None = held[debate.id]
        while turn is not None:
            held[debate.id] = turn
            thought = RULING if turn.brief.seat is Seat.ARBITRATOR else CLAIM
            turn = advance.commit(services, turn, thought, go_on=True)
            taken += 1
        return taken

    with ThreadPoolExecutor(len(made) + renewers) as pool:
        keeping = [pool.submit(keep_alive, made[number::renewers]) for number in range(renewers)]
        try:
            all_are_at_it.wait(30)
            taken = list(pool.map(take_all_turns, made))
        finally:
            done.set()
        renewed = [future.result() for future in keeping]

    assert taken == [3 * rounds] * len(made)
    assert all(renewed), "claims were kept alive meanwhile"
    for debate in made:
        after, turns = assert_sound(services, debate)
        assert (after.stop_reason, len(turns)) == (StopReason.MAX_ROUNDS, 3 * rounds + 1)
        assert after.usage.input_tokens == rounds * (30 + 30 + 5)


def take_turns(services: Services, held: HeldTurn) -> int:
    """As a worker does until its claim is gone; how many times it came back with a turn."""
    turn: HeldTurn | None = held
    came = 0
    while turn is not None:
        turn = advance.commit(services, turn, CLAIM, go_on=True)
        came += 1
    return came


@pytest.mark.parametrize("what", ["stop", "pause", "intervention"])
def test_no_turn_comes_after_what_a_person_did(services: Services, what: str) -> None:
    """The worker takes turn after turn; the person comes a little later each time, in the middle of one commit."""

    def act(debate: Debate) -> Debate:
        if what == "stop":
            return control.stop_debate(services, OPERATOR, debate.id, "enough")
        if what == "pause":
            return control.pause_debate(services, OPERATOR, debate.id)
        return submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Wait.")).debate

    def a_little_later(debate: Debate, seconds: float) -> Debate:
        time.sleep(seconds)
        return act(debate)

    counts = []
    for number in range(40):
        debate = a_debate(services, format=Format.DIALOGUE, seats=SCRIPTED, limits=NO_END)
        held = claimed(services, debate)
        came, acted = together(
            lambda held=held: take_turns(services, held),
            lambda debate=debate, number=number: a_little_later(debate, number * 0.0005),
        )
        after, turns = assert_sound(services, debate)
        own = 1 if what == "intervention" else 0
        assert after.turn_count == acted.turn_count, "nothing was stored after it"
        assert after.cursor == acted.cursor
        assert after.updated_at == acted.updated_at
        assert all(turn.created_at <= acted.updated_at for turn in turns)
        assert len(turns) == 1 + (came - 1) + own, "what came before it was stored, the last that came was dropped"
        assert after.status is {"stop": Status.STOPPED, "pause": Status.PAUSED}.get(what, Status.RUNNING)
        assert after.intervention_open == bool(own)
        assert advance.claim(services, debate.id, "another worker") is None
        counts.append(came)
    assert len(set(counts)) > 1, "the person came at different moments"


@pytest.mark.parametrize("go_on", [True, False], ids=["going on", "handing over"])
def test_two_workers_with_the_same_claim_store_one_turn(services: Services, place: Place, go_on: bool) -> None:
    for _ in range(30):
        debate = a_debate(services)
        held = claimed(services, debate)
        mine, twins = replace(CLAIM, content="mine"), replace(CLAIM, content="the twin's")
        answers = together(
            lambda held=held, thought=mine: advance.commit(services, held, thought, go_on),
            lambda held=held, thought=twins: advance.commit(services, held, thought, go_on),
        )
        after, turns = assert_sound(services, debate)
        assert len(turns) == 2
        assert after.usage == Usage(30, 12, 0.25), "counted once"
        going_on = [turn for turn in answers if turn is not None]
        assert len(going_on) == (1 if go_on else 0)
        [(token,)] = place.sql("SELECT claim_token FROM debates WHERE id = %s", debate.id)
        assert [turn.token for turn in going_on] == ([token] if token else [])
        assert all(turn.brief.recent == (turns[-1],) for turn in going_on)


def test_a_late_turn_and_the_worker_that_takes_over_never_both_win(services: Services, place: Place) -> None:
    for _ in range(30):
        debate = a_debate(services)
        late = claimed(services, debate)
        place.sql("UPDATE debates SET claim_expires_at = now() - interval '1 second' WHERE id = %s", debate.id)
        followed, taken_over = together(
            lambda late=late: advance.commit(services, late, CLAIM, go_on=True),
            lambda debate=debate: advance.claim(services, debate.id, "another worker"),
        )
        _, turns = assert_sound(services, debate)
        if followed is not None:
            assert taken_over is None
            assert len(turns) == 2
        else:
            assert len(turns) == 1
            assert taken_over.brief.seat is Seat.PROPOSER


# Postgres goes away.


@pytest.fixture
def with_connections(place: Place) -> Iterator[Callable[[int], Services]]:
    """Services with so many connections to the database, all of them open."""
    made: list[Services] = []

    def make(count: int) -> Services:
        services = build_services(place.settings, name="few", database_connections=count, patience_seconds=2)
        made.append(services)
        opened = [services.engine.connect() for _ in range(count)]
        for connection in opened:
            connection.close()
        return services

    yield make
    for services in made:
        close_services(services)


BACKENDS = "FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'few:')"


def lose_connections(place: Place) -> int:
    """How many there were. A backend may go by itself meanwhile."""
    return len(place.sql(f"SELECT pg_terminate_backend(pid, 5000) {BACKENDS}"))


@pytest.mark.parametrize("connections", [1, 5])
def test_connections_lost_between_two_turns_cost_one_commit(
    with_connections: Callable[[int], Services], place: Place, connections: int
) -> None:
    """As after a restart of Postgres: not one failure for each connection of the pool."""
    services = with_connections(connections)
    debate = a_debate(services)
    held = claimed(services, debate)
    assert lose_connections(place) == connections
    with pytest.raises(DatabaseAway):
        advance.commit(services, held, CLAIM, go_on=True)
    assert advance.commit(services, held, CLAIM, go_on=True) is not None
    assert len(assert_sound(services, debate)[1]) == 2
    with ExitStack() as all_at_once:
        for _ in range(connections):
            connection = all_at_once.enter_context(services.engine.connect())
            assert connection.execute(text("SELECT 1")).scalar() == 1


def test_a_connection_lost_in_the_middle_of_a_commit_stores_nothing_and_is_replaced(
    with_connections: Callable[[int], Services], place: Place
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    held = claimed(services, debate)
    waiting = f"SELECT pid {BACKENDS} AND wait_event_type = 'Lock'"
    with psycopg.connect(str(place.settings.database_url)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT id FROM debates WHERE id = %s FOR UPDATE", [debate.id])
        commit = pool.submit(advance.commit, services, held, CLAIM, True)
        wait_until(lambda: len(place.sql(waiting)) == 1, 5, "the commit waits for the row")
        lose_connections(place)
        with pytest.raises(DatabaseAway):
            commit.result(5)
        other.rollback()
    assert len(assert_sound(services, debate)[1]) == 1
    assert advance.commit(services, held, CLAIM, go_on=True) is not None
    assert len(assert_sound(services, debate)[1]) == 2


def test_connections_lost_again_and_again_under_load_lose_no_turn_and_store_none_twice(
    services: Services, with_connections: Callable[[int], Services], place: Place
) -> None:
    unsteady = with_connections(4)
    made = [a_debate(services, limits=Limits(max_rounds=60)) for _ in range(4)]
    away = 0

    def take_all_turns(debate: Debate) -> None:
        nonlocal away
        held: HeldTurn | None = None
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                held = held or advance.claim(unsteady, debate.id, "worker")
                if held is not None:
                    thought = RULING if held.brief.seat is Seat.ARBITRATOR else CLAIM
                    held = advance.commit(unsteady, held, thought, go_on=True)
                elif read.get_transcript(unsteady, debate.id, 0).debate.is_closed:
                    return
                else:  # the answer to a commit was lost, and its next claim with it: it lapses
                    time.sleep(0.05)
            except DatabaseAway:
                away += 1

    with ThreadPoolExecutor(len(made)) as pool:
        taking = [pool.submit(take_all_turns, debate) for debate in made]
        for _ in range(5):
            time.sleep(0.05)
            if not all(future.done() for future in taking):
                lose_connections(place)
        for future in taking:
            future.result(90)
    assert away > 0
    for debate in made:
        after, turns = assert_sound(services, debate)
        assert (after.stop_reason, len(turns)) == (StopReason.MAX_ROUNDS, 181)
        assert after.usage.input_tokens == 60 * (30 + 30 + 5)
    assert len(place.sql(f"SELECT pid {BACKENDS}")) <= 4, "the pool has kept to its size"


def assert_transactions_work(services: Services, place: Place) -> None:
    """Whoever wants a transaction does not get the one pooled connection in the one statement's mode: what is rolled
    back is gone."""
    with services.engine.connect() as connection:
        assert connection.connection.driver_connection.autocommit is False  # type: ignore[union-attr]

    class Broken(Exception):
        pass

    with pytest.raises(Broken), services.engine.begin() as connection:  # noqa: PT012 (what is raised is the test's own)
        connection.execute(text("UPDATE debates SET title = 'not to be kept'"))
        raise Broken
    assert place.sql("SELECT count(*) FROM debates WHERE title = 'not to be kept'") == [(0,)]
    with services.engine.begin() as connection:
        connection.execute(text("UPDATE debates SET title = 'to be kept'"))
    assert place.sql("SELECT count(*) FROM debates WHERE title = 'to be kept'") == [(1,)]


@pytest.mark.parametrize(
    ("seq", "slot"),
    [(50, (1, "debater_a")), (2, (9, "judge"))],
    ids=["turns_one_per_slot", "turns_one_per_seq"],
)
def test_a_turn_that_exists_is_refused_and_the_connection_serves_on(
    with_connections: Callable[[int], Services], place: Place, seq: int, slot: tuple[int, str]
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    held = claimed(services, debate)
    place.sql(
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
        " VALUES (gen_random_uuid(), %s, %s, %s, %s, 'CLAIM', 'stored by a twin', 'scripted')",
        debate.id,
        seq,
        *slot,
    )
    rows = "SELECT d.*, t.id FROM debates d JOIN turns t ON t.debate_id = d.id ORDER BY t.seq"
    before, backend = place.sql(rows), place.sql(f"SELECT pid {BACKENDS}")
    turn, after = planned(held, CLAIM)
    for _ in range(3):
        assert services.committer.store_turn(NewTurn(held.token, turn, after)) is None
    with pytest.raises(TurnExists), services.engine.begin() as connection:
        insert_turns(connection, [turn])
    assert place.sql(rows) == before
    assert place.sql(f"SELECT pid {BACKENDS}") == backend, "it is an answer, not a fault of the connection"
    assert_transactions_work(services, place)


def test_a_stored_turn_and_a_dropped_one_leave_the_connection_as_it_was(
    with_connections: Callable[[int], Services], place: Place
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    held = claimed(services, debate)
    turn, after = planned(held, CLAIM)
    assert services.committer.store_turn(NewTurn(held.token, turn, after)) is not None
    assert services.committer.store_turn(NewTurn(held.token, turn, after)) is None
    assert_transactions_work(services, place)


def test_words_that_can_never_be_stored_leave_nothing_behind(
    with_connections: Callable[[int], Services], place: Place
) -> None:
    services = with_connections(1)
    debate = a_debate(services)
    held = claimed(services, debate)
    for unspeakable in ("a \x00 in the middle", "half a character \ud83d"):
        with pytest.raises(advance.UnusableThought):
            advance.commit(services, held, replace(CLAIM, content=unspeakable), go_on=True)
    after, turns = assert_sound(services, debate)
    assert (after.cursor, len(turns)) == (Cursor(1, Seat.PROPOSER), 1)
    assert advance.commit(services, held, CLAIM, go_on=False) is None
    assert len(assert_sound(services, debate)[1]) == 2
    assert_transactions_work(services, place)


@pytest.mark.parametrize(
    "thought",
    [replace(CLAIM, content="a \x00 in the middle"), replace(CLAIM, content="half a character \ud83d"), RULING],
    ids=["a NUL", "a lone surrogate", "a move that is not this seat's"],
)
def test_a_thought_that_cannot_be_stored_counts_as_a_failure_of_its_player(
    services: Services, debate: Debate, thought: Thought
) -> None:
    """Else the claim lapses and the same is thought, and paid for, again and again for ever."""

    class Odd:
        def think(self, _: Brief, __: threading.Event) -> Thought:
            return thought

    keeper = ClaimKeeper(lambda held: advance.renew_claims(services, held))
    runner = Runner(services, "worker", keeper, Fairness(lambda: 0), lambda _: Odd(), threading.Event())
    runner.advance_debate(debate.id)
    after, turns = assert_sound(services, debate)
    assert (after.attempts, len(turns)) == (1, 1)
    assert after.last_error
