"""Many turns stored by one statement, and many debates claimed by one: no neighbour pays for another."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from claimed_debates import (
    CLAIM,
    FOREVER,
    ONLY_WANTED,
    WORKER,
    a_debate,
    claimed,
    end_backoff,
    ensure_lease,
    fail,
    lapse_lease,
    release,
    row_of,
    store_together,
    take_turn,
    try_claim,
    turn,
)
from databases import rows_read
from harness import Place, services_of
from situations.debates import (
    damage_seats,
    fill,
    make_due,
    pass_deadline,
    remove_turns,
    set_deadline,
    spend_tokens,
    store_twin,
)
from situations.failing import locking

from app.bootstrap import close_services
from app.core.access import OPERATOR
from app.core.changes import Outcome, Result
from app.core.claims import Room
from app.core.debate import Debate, Limits
from app.core.players import SeatSetup
from app.core.retry import PlayerError
from app.core.seats import Seat
from app.usecases import advance, control, read, sweep
from app.usecases.advance import Claim, Step
from app.usecases.services import Services
from worker.process import worker_services

MOST_IN_A_COLUMN = 2**63 - 1


def turns_stored(place: Place, debates: list[Debate]) -> list[int]:
    return [place.sql("SELECT turn_count FROM debates WHERE id = %s", debate.id)[0][0] for debate in debates]


def transactions(place: Place) -> int:
    """In how many the second turns were stored."""
    count: int = place.sql("SELECT count(DISTINCT xmin::text) FROM turns WHERE seq = 2")[0][0]
    return count


def results(outcomes: list[Outcome]) -> list[Result]:
    return [outcome.result for outcome in outcomes]


# Commits.


def test_turns_that_come_together_are_stored_in_one_transaction(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(6)]
    steps = [turn(claimed(services, debate), CLAIM) for debate in made]
    outcomes = advance.commit(services, steps)
    assert results(outcomes) == [Result.STORED] * 6
    assert turns_stored(place, made) == [2] * 6
    assert transactions(place) == 1
    for debate, step, outcome in zip(made, steps, outcomes, strict=True):
        following = advance.next_claim(step, outcome)
        assert following is not None
        assert following.debate.id == debate.id
        rows = place.sql("SELECT claim_token, updated_at, next_actor FROM debates WHERE id = %s", debate.id)
        assert rows == [(following.token, following.debate.updated_at, following.debate.cursor.seat.actor)]
        assert take_turn(services, following, CLAIM) is not None


def test_two_turns_of_one_debate_never_come_in_one_statement(services: Services) -> None:
    claim = claimed(services, a_debate(services))
    with pytest.raises(ValueError, match="two changes of one debate"):
        advance.commit(services, [turn(claim, CLAIM), turn(claim, CLAIM)])


def test_a_row_that_somebody_holds_is_reported_and_holds_up_nobody_else(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(4)]
    steps = [turn(claimed(services, debate), CLAIM) for debate in made]
    with locking(place, made[2].id):
        outcomes = advance.commit(services, steps)
        assert results(outcomes) == [Result.STORED, Result.STORED, Result.ROW_LOCKED, Result.STORED]
        assert turns_stored(place, made) == [2, 2, 1, 2]
    [outcome] = advance.commit(services, [steps[2]])
    assert outcome.result is Result.STORED
    assert turns_stored(place, made) == [2] * 4


def test_every_outcome_is_its_own_steps(services: Services, place: Place) -> None:
    stopped, deleted, locked, lapsed, late, ordinary, twice = (
        a_debate(services, limits=Limits(max_seconds=1000)) for _ in range(7)
    )
    workers = {lapsed.id: "a slow worker"}
    steps = [
        turn(claimed(services, debate, workers.get(debate.id, WORKER)), CLAIM)
        for debate in (stopped, deleted, locked, lapsed, late, ordinary, twice)
    ]
    advance.commit(services, [steps[6]])
    control.stop_debate(services, OPERATOR, stopped.id, None)
    control.delete_debate(services, OPERATOR, deleted.id)
    lapse_lease(place, "a slow worker")
    pass_deadline(place, late.id)
    with locking(place, locked.id):
        outcomes = advance.commit(services, steps)
    assert results(outcomes) == [
        Result.CLAIM_LOST,
        Result.CLAIM_LOST,
        Result.ROW_LOCKED,
        Result.LEASE_LAPSED,
        Result.DEADLINE_DIFFERS,
        Result.STORED,
        Result.ALREADY_STORED,
    ]
    assert turns_stored(place, [stopped, locked, lapsed, late, ordinary, twice]) == [1, 1, 1, 1, 2, 2]
    assert [outcome.has_next_claim for outcome in outcomes] == [False] * 5 + [True] * 2


def a_failure(claim: Claim) -> Step:
    return advance.failure_step(claim, PlayerError("Too busy.", usage=CLAIM.usage), jitter=0)


REPEATED: dict[str, Callable[[Claim], Step]] = {
    "failure": a_failure,
    "wait": lambda claim: advance.postponement_step(claim, "Tomorrow.", 1, CLAIM.usage),
    "release": lambda claim: advance.release_step(claim, CLAIM.usage),
}


@pytest.mark.parametrize("step_for", REPEATED.values(), ids=REPEATED.keys())
@pytest.mark.parametrize("meanwhile", ["nothing", "paused", "claimed by another"])
def test_a_step_without_a_turn_that_is_committed_again_is_known_by_its_claim(
    services: Services, place: Place, step_for: Callable[[Claim], Step], meanwhile: str
) -> None:
    """As when the connection is lost after the commit."""
    debate = a_debate(services)
    step = step_for(claimed(services, debate))
    assert results(advance.commit(services, [step])) == [Result.STORED]
    if meanwhile == "paused":
        control.pause_debate(services, OPERATOR, debate.id)
    elif meanwhile == "claimed by another":
        end_backoff(place, debate)
        claimed(services, debate, "another worker")
    before = row_of(place, debate)
    assert results(advance.commit(services, [step])) == [Result.ALREADY_STORED]
    after = row_of(place, debate)
    assert after == {**before, "read_at": after["read_at"]}
    assert (after["input_tokens"], after["output_tokens"], after["cost_usd"]) == (30, 12, 0.25)
    assert after["attempts"] == (1 if step_for is a_failure else 0)


def turns_of(services: Services, claims: list[Claim]) -> list[Result | type[BaseException]]:
    """What became of a turn in each of these debates, that a worker commits together."""
    stored = store_together(services, claims, lambda claim: turn(claim, CLAIM))
    return [
        type(one) if isinstance(one, BaseException) else one[1].result if one else Result.CLAIM_LOST for one in stored
    ]


def test_a_turn_that_postgres_refuses_is_the_only_one_that_fails(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(4)]
    claims = [claimed(services, debate) for debate in made]
    spend_tokens(place, MOST_IN_A_COLUMN, made[2].id)
    refused = psycopg.errors.NumericValueOutOfRange
    with pytest.raises(refused):
        advance.commit(services, [turn(claim, CLAIM) for claim in claims])
    assert turns_stored(place, made) == [1] * 4, "the statement that raised has stored nothing"
    assert turns_of(services, claims) == [Result.STORED, Result.STORED, refused, Result.STORED]
    assert turns_stored(place, made) == [2, 2, 1, 2]


def test_only_the_debate_whose_turn_exists_is_released_without_it(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(4)]
    claims = [claimed(services, debate) for debate in made]
    store_twin(place, made[1].id)
    control.stop_debate(services, OPERATOR, made[2].id, None)
    assert turns_of(services, claims) == [Result.STORED, Result.STORED, Result.CLAIM_LOST, Result.STORED]
    assert turns_stored(place, made) == [2, 1, 1, 2]
    assert place.sql("SELECT claim_token FROM debates WHERE id = %s", made[1].id) == [(None,)]


def test_a_database_that_goes_away_fails_all_and_all_are_tried_again_together(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [a_debate(services) for _ in range(4)]
    claims = [claimed(services, debate) for debate in made]
    asked: list[int] = []
    commit = advance.commit

    def lost(services: Services, steps: list[Step]) -> list[Outcome]:
        asked.append(len(steps))
        if len(asked) == 1:
            place.sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name ^@ 'tests:'")
        return commit(services, steps)

    monkeypatch.setattr(advance, "commit", lost)
    assert turns_of(services, claims) == [Result.STORED] * 4
    assert asked == [4, 4], "it is not asked again for each of them"
    assert turns_stored(place, made) == [2] * 4


# Claims.


def claim_all(services: Services, wanted: list[UUID], room: Room = ONLY_WANTED, at_most: int = 64) -> list[Claim]:
    ensure_lease(services)
    return advance.claim(services, WORKER, wanted, room, at_most)


def ids(debates: list[Debate] | list[Claim]) -> set[UUID]:
    return {one.debate.id if isinstance(one, Claim) else one.id for one in debates}


def due_in_order(place: Place, debates: list[Debate]) -> None:
    """The first has been due longest."""
    for number, debate in enumerate(debates):
        make_due(place, debate.id, seconds_ago=1000 - number)


def test_claims_that_come_together_each_get_their_own(services: Services, place: Place) -> None:
    ordinary = [a_debate(services) for _ in range(3)]
    stopped, external = a_debate(services), a_debate(services, seats={Seat.PROPOSER: SeatSetup("external")})
    control.stop_debate(services, OPERATOR, stopped.id, None)
    timed = a_debate(services, limits=Limits(max_seconds=1000))
    has_another = a_debate(services)
    claimed(services, has_another, "another worker")
    wanted = [*ordinary, ordinary[2], stopped, external, timed, has_another]
    found = claim_all(services, [*(debate.id for debate in wanted), uuid4()])
    assert ids(found) == ids([*ordinary, timed])
    assert len(found) == 4, "one that is wanted twice is claimed once"
    assert len({claim.token for claim in found}) == 4
    for claim in found:
        [row] = place.sql("SELECT claim_token, claimed_by, status FROM debates WHERE id = %s", claim.debate.id)
        assert row == (claim.token, WORKER, "running")
        assert (claim.brief.motion.content, claim.brief.motion.debate_id) == ("Ban cars", claim.debate.id)
    assert place.sql("SELECT deadline_at IS NOT NULL FROM debates WHERE id = %s", timed.id) == [(True,)]


def test_a_damaged_debate_fails_in_words_and_spoils_no_neighbours_claim(
    services: Services, place: Place, logs: list[Any]
) -> None:
    made = [a_debate(services) for _ in range(4)]
    damage_seats(place, made[1].id)
    remove_turns(place, made[2].id)
    assert ids(claim_all(services, [], Room({}, 64))) == ids([made[0], made[3]])
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["debate.unreadable"] * 2
    for damaged, problem in ((made[1], "proposer"), (made[2], "it has no motion")):
        [row] = place.sql(
            "SELECT status, last_error, claim_token, claimed_by, due_at FROM debates WHERE id = %s", damaged.id
        )
        assert (row[0], row[2:]) == ("failed", (None, None, None))
        assert row[1].startswith("What is stored of this debate cannot be read (")
        assert problem in row[1]
    assert claim_all(services, [], Room({}, 64)) == [], "it is not tried again and again"


def test_a_damaged_debate_keeps_the_time_that_was_left(services: Services, place: Place) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=600))
    release(services, claimed(services, debate))
    set_deadline(place, 5)
    damage_seats(place)
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT status, deadline_at, seconds_left <= 5 FROM debates") == [("failed", None, True)]


def test_a_closed_debate_that_is_due_by_mistake_spoils_no_neighbours_claim(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(2)]
    for what in (control.stop_debate, control.pause_debate):
        odd = a_debate(services)
        what(services, OPERATOR, odd.id, *([None] if what is control.stop_debate else []))
        make_due(place, odd.id, seconds_ago=3600)
    assert ids(claim_all(services, [], Room({}, 64))) == ids(made)
    assert place.sql("SELECT count(*) FROM debates WHERE status IN ('stopped', 'paused')") == [(2,)]


def test_a_claim_takes_along_what_has_been_due_longest(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(6)]
    due_in_order(place, made)
    assert ids(claim_all(services, [], Room({}, 4), at_most=3)) == ids(made[:3]), "no more than there are tokens"
    assert ids(claim_all(services, [], Room({}, 2))) == ids(made[3:5]), "no more than there is room for"
    assert ids(claim_all(services, [], Room({"scripted": 9}, 0))) == ids(made[5:])


def test_each_share_has_its_own_room_and_a_full_one_is_left_alone(services: Services, place: Place) -> None:
    def due(player: str, count: int, **options: Any) -> list[Debate]:
        seats = dict.fromkeys(Seat, SeatSetup(player, **options))
        return [a_debate(services, seats=seats) for _ in range(count)]

    plain, hour_long = due("scripted", 4), due("scripted", 4, think_seconds=3600.0)
    openai, groq = due("openai:gpt-5-mini", 4), due("groq:llama", 3)
    due_in_order(place, [*openai, *hour_long, *plain, *groq])
    room = Room({"scripted": 2, "scripted>100s": 0, "openai": 1}, free_of_new=2)
    assert ids(claim_all(services, [], room)) == ids([*plain[:2], *openai[:1], *groq[:2]])
    assert claim_all(services, [hour_long[0].id], room) != [], "the others are still due"
    assert place.sql("SELECT count(*) FROM debates WHERE share = 'scripted>100s' AND claim_token IS NOT NULL") == [(0,)]


def test_what_is_wanted_comes_first_however_much_has_been_due_longer(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(30)]
    due_in_order(place, made)
    wanted = made[-8:]
    found = claim_all(services, [debate.id for debate in wanted], Room({"scripted": 40}, 40), at_most=10)
    assert ids(found) == ids([*wanted, *made[:2]])


def test_what_is_wanted_counts_in_the_room_of_its_share(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(10)]
    due_in_order(place, made)
    found = claim_all(services, [debate.id for debate in made[-3:]], Room({"scripted": 5}, 5))
    assert ids(found) == ids([*made[-3:], *made[:2]])


def test_rows_that_somebody_holds_are_skipped_and_claimed_later(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(4)]
    with locking(place, made[0].id, made[1].id):
        assert ids(claim_all(services, [made[0].id, made[2].id], Room({}, 64))) == ids(made[2:])
    assert ids(claim_all(services, [], Room({}, 64))) == ids(made[:2])


def test_two_workers_that_claim_at_once_share_what_is_due(services: Services) -> None:
    made = [a_debate(services) for _ in range(40)]
    workers = [f"worker {number}" for number in range(4)]
    for worker_id in workers:
        ensure_lease(services, worker_id)

    def claim_some(worker_id: str) -> list[Claim]:
        found: list[Claim] = []
        while more := advance.claim(services, worker_id, [], Room({}, 64), 5):
            found += more
        return found

    with ThreadPoolExecutor(4) as pool:
        found = [claim for claims in pool.map(claim_some, workers) for claim in claims]
    assert len(found) == 40
    assert ids(found) == ids(made)


def test_shares_in_which_debates_wait_are_known(services: Services) -> None:
    claimed(services, a_debate(services))
    assert advance.shares_with_waiting(services, ["scripted", "openai"]) == set()
    a_debate(services)
    assert advance.shares_with_waiting(services, ["scripted", "openai"]) == {"scripted"}


@pytest.mark.parametrize("before", ["new", "running", "failed before"])
def test_a_claim_changes_these_columns_and_no_others(services: Services, place: Place, before: str) -> None:
    debate = a_debate(services, limits=Limits(max_seconds=5000))
    if before != "new":
        claim = claimed(services, debate)
        if before == "running":
            release(services, claim)
        else:
            fail(services, claim)
            end_backoff(place, debate)
    was = row_of(place, debate)
    claim = claimed(services, debate)
    row = row_of(place, debate)
    assert abs((row["deadline_at"] - row["read_at"]).total_seconds() - 5000) < 60
    assert row == {
        **was,
        "status": "running",
        "claim_token": claim.token,
        "claimed_by": WORKER,
        "due_at": FOREVER,
        "next_attempt_at": None,
        "deadline_at": was["deadline_at"] or row["deadline_at"],
        "read_at": row["read_at"],
    }
    assert claim.debate == read.get_transcript(services, debate.id, 0).debate


def test_statements_of_a_turn_are_prepared_when_a_connection_first_runs_them(place: Place) -> None:
    # psycopg's default plans the first five on each connection anew, which takes longer than running them.
    with services_of(place.settings, 1) as services:
        take_turn(services, claimed(services, a_debate(services)), CLAIM)
        with services.engine.autocommit() as connection:
            prepared = [row[0] for row in connection.execute("SELECT statement FROM pg_prepared_statements")]
    for part in ("jsonb_to_recordset", "WITH RECURSIVE lease", "ORDER BY seq DESC"):
        assert any(part in statement for statement in prepared), part


@pytest.fixture
def of_a_worker(place: Place) -> Iterator[Services]:
    """Statements that come one after the other all run on the same connection."""
    services = worker_services(place.settings)
    yield services
    close_services(services)


def test_a_workers_connection_plans_each_statement_once(of_a_worker: Services) -> None:
    # Postgres' default plans the first five runs by their parameters, which takes longer than running them.
    for _ in range(8):
        take_turn(of_a_worker, claimed(of_a_worker, a_debate(of_a_worker)), CLAIM)
        sweep.sweep(of_a_worker)
    with of_a_worker.engine.autocommit() as connection:
        runs = connection.execute("SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements")
        planned = {statement: (generic, custom) for statement, generic, custom in runs}
    assert {custom for _, custom in planned.values()} == {0}
    assert sum(generic >= 8 for generic, _ in planned.values()) >= 4, "claim, its turns, commit and sweep"


def test_turns_read_as_many_rows_among_many_debates_as_among_few(place: Place, of_a_worker: Services) -> None:
    plan_for_small_tables(place, of_a_worker)
    among_few = rows_read_by_turns(of_a_worker)
    for _ in range(100):
        a_debate(of_a_worker)
    assert rows_read_by_turns(of_a_worker) == among_few


def test_a_claim_reads_no_more_of_what_is_due_than_it_takes(place: Place, of_a_worker: Services) -> None:
    made = [a_debate(of_a_worker) for _ in range(4)]
    due_in_order(place, made)
    # Due a little later than those: what claims would take next. Postgres has no statistics of them.
    fill(place, debates=3000, status="created")
    before = rows_read(of_a_worker.engine)["debates"]
    assert ids(claim_all(of_a_worker, [], Room({}, 64), at_most=4)) == ids(made)
    assert rows_read(of_a_worker.engine)["debates"] - before < 50


def test_creating_a_debate_reads_no_turns_of_others(place: Place) -> None:
    with services_of(place.settings, 1) as services:
        plan_for_small_tables(place, services)
        before = rows_read(services.engine)["turns"]
        for _ in range(12):
            a_debate(services)
        # Not even one for each; planning reads the first and the last.
        assert rows_read(services.engine)["turns"] - before < 12


def plan_for_small_tables(place: Place, services: Services) -> None:
    """A connection keeps one plan: a worker's from the first run of a statement, others from the sixth."""
    for _ in range(30):
        take_turn(services, claimed(services, a_debate(services)), CLAIM)
        place.sql("ANALYZE debates, turns")


def rows_read_by_turns(services: Services) -> dict[str, int]:
    debates = [a_debate(services) for _ in range(12)]
    before = rows_read(services.engine)
    for claim in [claimed(services, debate) for debate in debates]:
        take_turn(services, claim, CLAIM)
    return {table: count - before[table] for table, count in rows_read(services.engine).items()}
