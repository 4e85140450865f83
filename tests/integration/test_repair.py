"""`repair`, for every format: whatever was played, a healthy debate is left alone, and a
damaged cursor comes back to where it was. Many debates are played by the core alone and stored in one statement."""

from dataclasses import replace
from random import Random
from uuid import UUID, uuid4

from harness import Place
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from situations.debates import change, remove_all
from sqlalchemy import insert

from app.core import control
from app.core.debate import Cursor, Debate, Limits, Status, Turn, TurnType, Usage
from app.core.limits import ended_by, limit_reached
from app.core.machine import Move, decide
from app.core.players import SeatSetup
from app.core.refusals import MoveRefused
from app.core.schedules import BUILT_IN, DIRECT, Schedule
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.store import debates as stored
from app.store.rows import debate_row, setup_row, turn_row
from app.store.tables import debates, turns
from app.usecases.maintenance import repair
from app.usecases.services import Services

Played = tuple[Debate, list[Turn]]
INTERVENES = (Seat.ARBITRATOR, TurnType.INTERVENTION)
EVERY_MOVE = [(seat, kind) for seat in Seat for kind in TurnType]


def a_debate(form: Schedule, chance: Random) -> Debate:
    seats = {seat: SeatSetup(chance.choice(["external", "scripted"])) for seat in Seat}
    rounds = chance.choice([None, None, 2, 5]) if form.has_rounds else None
    limits = Limits(max_rounds=rounds, max_total_tokens=chance.choice([None, None, 60]))
    return Debate(
        id=uuid4(),
        title="Repaired",
        debate_type="general_debate",
        schedule=form,
        status=Status.CREATED,
        cursor=Cursor(*form.first),
        seats=seats,
        limits=limits,
    )


def a_turn(debate_id: UUID, seq: int, round_: int | None, seat: Seat, kind: TurnType) -> Turn:
    return Turn(uuid4(), debate_id, seq, round_, seat, kind, "words", "external")


def due(debate: Debate) -> tuple[Seat, TurnType]:
    seat = debate.cursor.seat
    if seat is not Seat.ARBITRATOR:
        return seat, TurnType.CLAIM
    return seat, TurnType.QUESTION if TurnType.QUESTION in seat_view(debate, seat).table_moves else TurnType.RULING


def played(form: Schedule, seed: int) -> Played:
    """A debate after some moves: mostly what is due, with interventions, appeals and the rest between them."""
    chance = Random(seed)
    debate = a_debate(form, chance)
    made = [a_turn(debate.id, 1, form.motion_round, Seat.PROPOSER, TurnType.MOTION)]
    for _ in range(chance.randrange(25)):
        seat, kind = chance.choice([due(debate)] * 5 + [INTERVENES, INTERVENES, chance.choice(EVERY_MOVE)])
        # Interventions and the rulings on them are people's.
        is_workers = not debate.seats[seat].is_external
        by_worker = is_workers and kind is not TurnType.INTERVENTION and not debate.intervention_open
        close = kind is TurnType.RULING and chance.random() < 0.05
        try:
            decision = decide(debate, Move(seat, kind, "words", by_worker, close, usage=Usage(5, 5)))
        except MoveRefused:
            continue
        made += [replace(a_turn(debate.id, t.seq, t.round, t.seat, t.type), player=t.player) for t in decision.turns]
        debate = decision.debate
    return ended(debate, chance), made


def ended(debate: Debate, chance: Random) -> Debate:
    """Perhaps the deadline has passed, and perhaps somebody stops, pauses or finds it failed."""
    if not debate.is_closed and chance.random() < 0.3 and (reason := limit_reached(debate.evolve(past_deadline=True))):
        debate = ended_by(debate, reason)
    if debate.is_closed:
        return debate
    return chance.choice(
        [
            debate,
            control.stop(debate, None),
            debate.evolve(status=Status.PAUSED),
            debate.evolve(status=Status.FAILED, last_error="It broke"),
        ]
    )


def store(services: Services, some: list[Played]) -> None:
    with services.engine.begin() as connection:
        connection.execute(insert(debates), [{**setup_row(debate), **debate_row(debate)} for debate, _ in some])
        connection.execute(insert(turns), [turn_row(turn) for _, made in some for turn in made])


def as_repaired(debate: Debate) -> tuple[object, ...]:
    return debate.cursor, debate.turn_count, debate.intervention_open, debate.interrupted, debate.status, debate.closing


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=12, unique=True))
def test_repair_puts_right_what_was_damaged_in_every_format(services: Services, place: Place, seeds: list[int]) -> None:
    some = [played(form, seed) for seed in seeds for form in BUILT_IN.values()]
    store(services, some)
    assert repair(services) == [], "healthy debates are left alone"
    change(
        place,
        "next_actor = CASE next_actor WHEN 'judge' THEN 'debater_a' ELSE 'judge' END,"
        " next_round = 99, turn_count = 98, intervention_open = NOT intervention_open, interrupted_actor = NULL",
    )
    assert {row.debate_id for row in repair(services)} >= {debate.id for debate, _ in some}
    with services.engine.begin() as connection:
        after = {debate.id: debate for debate in stored.get_many(connection, [debate.id for debate, _ in some])}
    assert {debate.id: as_repaired(debate) for debate, _ in some} == {
        debate_id: as_repaired(debate) for debate_id, debate in after.items()
    }
    remove_all(place)


def test_the_walks_reach_what_the_property_is_about() -> None:
    """Each format is played, and there are open interventions, closing rulings and ends among them."""
    some = [played(form, seed)[0] for seed in range(150) for form in BUILT_IN.values()]
    assert {debate.interrupted for debate in some} >= {None, Seat.PROPOSER, Seat.OPPONENT}
    assert {debate.format for debate in some if debate.intervention_open} == set(BUILT_IN) - {DIRECT.name}
    assert any(debate.closing and not debate.is_closed for debate in some)
    assert any(debate.closing and debate.is_closed for debate in some)
    assert {debate.status for debate in some} >= {Status.COMPLETED, Status.STOPPED, Status.PAUSED, Status.RUNNING}
