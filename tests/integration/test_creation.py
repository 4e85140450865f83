"""One statement stores a debate and its motion, or says why it does not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from callers import an_agent
from harness import Place, lock_waits, services_of, wait_until
from situations import debates, turns

from app.core.access import DEFAULT_SCOPES, OPERATOR, Agent
from app.core.debate import Limits
from app.core.errors import AuthFailed, DebateExists, InvalidInput
from app.core.players import EXTERNAL, SCRIPTED, SeatSetup
from app.core.schedules import BUILT_IN, ROUNDS, Schedule
from app.core.seats import Seat
from app.store import create
from app.usecases import agents, read
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services

NEW = NewDebate("Title", "general_debate", "Motion", "request")


@pytest.fixture
def agent(services: Services) -> Agent:
    return an_agent(services, "skeptic", *DEFAULT_SCOPES)


def counted(place: Place) -> list[tuple[Any, ...]]:
    return place.sql("SELECT (SELECT count(*) FROM debates), (SELECT count(*) FROM turns)")


@pytest.mark.parametrize("format_", list(BUILT_IN.values()))
def test_what_is_answered_is_what_is_stored(services: Services, agent: Agent, format_: Schedule) -> None:
    proposer = SeatSetup(SCRIPTED) if format_.simultaneous_seats else SeatSetup(EXTERNAL, agent_id=str(agent.id))
    seats = {Seat.PROPOSER: proposer, Seat.OPPONENT: SeatSetup(SCRIPTED, persona="Curt", think_seconds=600.0)}
    limits = Limits(max_rounds=4 if format_.has_rounds else None, max_seconds=90)
    stored = create_debate(services, agent, replace(NEW, schedule=format_, seats=seats, limits=limits))
    transcript = read.get_transcript(services, stored.debate.id, None)
    assert (transcript.debate, transcript.motion) == (stored.debate, stored.turn)
    assert stored.turn.agent is not None
    assert stored.turn.agent.id == agent.id


def test_a_debate_that_waits_for_a_worker_is_due_and_one_that_does_not_is_not(place: Place, services: Services) -> None:
    due = create_debate(services, OPERATOR, replace(NEW, schedule=ROUNDS)).debate.id
    waits = create_debate(services, OPERATOR, replace(NEW, client_request_id="other")).debate.id
    found = place.sql("SELECT id, due_at IS NOT NULL FROM debates")
    assert sorted(found) == sorted([(due, True), (waits, False)])


def test_a_key_that_was_revoked_meanwhile_stores_nothing(place: Place, services: Services, agent: Agent) -> None:
    agents.revoke_key(services, OPERATOR, agent.id)
    with pytest.raises(AuthFailed):
        create_debate(services, agent, NEW)
    assert counted(place) == [(0, 0)]


def test_a_seat_bound_to_no_agent_there_is_stores_nothing(place: Place, services: Services, agent: Agent) -> None:
    known, unknown = SeatSetup(EXTERNAL, agent_id=str(agent.id)), SeatSetup(EXTERNAL, agent_id=str(uuid4()))
    seats = {Seat.OPPONENT: known, Seat.ARBITRATOR: unknown}
    with pytest.raises(InvalidInput, match="arbitrator"):
        create_debate(services, OPERATOR, replace(NEW, seats=seats))
    assert counted(place) == [(0, 0)]


def test_every_outcome_is_told_apart(place: Place, services: Services, agent: Agent) -> None:
    made = create_debate(services, OPERATOR, NEW)
    debate, motion = made.debate, made.turn

    def attempt(caller: Any, request: str, debate_id: UUID) -> create.Outcome:
        other = replace(motion, debate_id=debate_id, client_request_id=request)
        return create.create(services.engine, caller, debate.evolve(id=debate_id), other)

    assert attempt(OPERATOR, "request", uuid4()) == create.RequestUsed(debate.id)
    assert attempt(OPERATOR, "other", debate.id) == create.Refusal.ID_TAKEN
    assert attempt(replace(agent, credential=b"no such key"), "third", uuid4()) == create.Refusal.KEY_REVOKED
    assert counted(place) == [(1, 1)]
    elsewhere = attempt(OPERATOR, "other", uuid4())
    assert isinstance(elsewhere, create.Created)
    assert elsewhere.motion.debate_id == elsewhere.debate.id
    assert counted(place) == [(2, 2)]


def test_a_connection_plans_a_creation_a_few_times_and_then_keeps_the_plan(place: Place) -> None:
    """Planning takes Postgres longer than creating. It plans each creation anew where a plan for any request would have
    more parts than this one needs."""
    debates.fill(place, debates=3000, status="created")
    turns.add_motions(place, "Text" * 140)
    with services_of(place.settings, 1) as services:
        for number in range(12):
            create_debate(services, OPERATOR, replace(NEW, client_request_id=str(number)))
        with services.engine.autocommit() as connection:
            plans = connection.execute(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%INTO debates%'"
            ).fetchall()
    assert plans == [(7, 5)]


# Races, each with two real connections


@pytest.fixture
def somebody_else(place: Place) -> Iterator["psycopg.Connection[Any]"]:
    """A transaction that stores the same request, and has not committed yet."""
    with psycopg.connect(str(place.settings.database_url)) as connection:
        yield connection
        connection.rollback()


def store_by_hand(
    connection: "psycopg.Connection[Any]", debate_id: UUID, request: str, content: str = "Motion"
) -> None:
    external = '{"player": "external"}'
    connection.execute(
        "INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, seats, limits,"
        " turn_count, created_by, client_request_id) VALUES (%s, 'Title', 'general_debate', 'dialogue', 'created', 1,"
        " 'debater_b', %s, '{}', 1, 'operator', %s)",
        (debate_id, f'{{"proposer": {external}, "opponent": {external}, "arbitrator": {external}}}', request),
    )
    connection.execute(
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player, client_request_id)"
        " VALUES (gen_random_uuid(), %s, 1, 1, 'debater_a', 'MOTION', %s, 'external', %s)",
        (debate_id, content, request),
    )


def finish_while_one_waits(place: Place, services: Services, new: NewDebate, finish: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(create_debate, services, OPERATOR, new)
        wait_until(lambda: lock_waits(place) == 1, 60, "the creation waits for the other transaction")
        finish()
        return creating.result(30)


@pytest.mark.parametrize(("is_same_id", "commits"), [(True, True), (False, True), (True, False)])
def test_the_same_request_on_another_connection_is_answered_with_what_that_commits(
    place: Place, services: Services, somebody_else: Any, is_same_id: bool, commits: bool
) -> None:
    """Also where the other one made a debate with another id: the request's id is what counts."""
    debate_id = uuid4()
    store_by_hand(somebody_else, debate_id, "request")
    new = replace(NEW, debate_id=debate_id) if is_same_id else NEW
    finish = somebody_else.commit if commits else somebody_else.rollback
    stored = finish_while_one_waits(place, services, new, finish)
    assert (stored.replayed, stored.debate.id) == (commits, debate_id)
    assert counted(place) == [(1, 1)]


def test_an_id_that_another_request_took_meanwhile_is_refused(
    place: Place, services: Services, somebody_else: Any
) -> None:
    new = replace(NEW, debate_id=uuid4())
    store_by_hand(somebody_else, new.debate_id, "another request")
    with pytest.raises(DebateExists):
        finish_while_one_waits(place, services, new, somebody_else.commit)
    assert counted(place) == [(1, 1)]


def test_the_database_itself_refuses_a_second_debate_for_one_request(place: Place, somebody_else: Any) -> None:
    store_by_hand(somebody_else, uuid4(), "request")
    somebody_else.commit()
    with pytest.raises(psycopg.errors.UniqueViolation, match="debates_one_per_request"):
        store_by_hand(somebody_else, uuid4(), "request")
