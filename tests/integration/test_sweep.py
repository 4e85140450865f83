"""Leases: what keeps claims alive, and what becomes of them when a worker is gone."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from claimed_debates import (
    CLAIM,
    WORKER,
    a_debate,
    claimed,
    commit_turn,
    end_backoff,
    ensure_lease,
    fail,
    lapse_lease,
    take_turn,
    try_claim,
)
from harness import Place, wait_until
from situations.debates import age_claim
from situations.failing import writes_waiting

from app.core.access import OPERATOR
from app.core.changes import Result
from app.core.claims import Room
from app.core.debate import Debate
from app.store import leases
from app.store.clock import now
from app.usecases import advance, control, read
from app.usecases.claims import WorkKind, release_unknown
from app.usecases.services import Services
from app.usecases.sweep import begin_lease, end_lease, renew_lease, sweep
from app.usecases.system import readiness

CLAIMS = "OLD.claim_token IS NULL AND NEW.claim_token IS NOT NULL"
UNCLAIMED_AND_DUE = [(None, None, True)]


def claim_of(place: Place, debate: Debate) -> list[tuple[object, ...]]:
    return place.sql(
        "SELECT claim_token, claimed_by, due_at <= clock_timestamp() FROM debates WHERE id = %s",
        debate.id,
    )


def turn_count(services: Services, debate: Debate) -> int:
    return read.get_transcript(services, debate.id, 0).debate.turn_count


# A worker's lease.


def test_the_claims_of_a_lapsed_lease_are_released_and_those_of_a_live_one_are_not(
    services: Services, place: Place
) -> None:
    lost, kept = [a_debate(services) for _ in range(3)], [a_debate(services) for _ in range(3)]
    for debate in lost:
        claimed(services, debate, "a worker that died")
    claims = [claimed(services, debate) for debate in kept]
    assert sweep(services) == 0
    lapse_lease(place, "a worker that died")
    assert sweep(services) == 3
    for debate in lost:
        assert claim_of(place, debate) == UNCLAIMED_AND_DUE
        assert try_claim(services, debate.id, "another worker") is not None
    assert [commit_turn(services, claim, CLAIM) for claim in claims] == [Result.STORED] * 3
    assert place.sql("SELECT count(*) FROM worker_leases WHERE worker_id = 'a worker that died'") == [(0,)]


def test_workers_are_told_of_what_the_sweeper_has_released(services: Services, place: Place, debate: Debate) -> None:
    claimed(services, debate)
    wait_until(lambda: services.tasks.length() == 1, 60, "the new debate is queued")
    place.redis().flushdb()
    lapse_lease(place)
    assert sweep(services) == 1
    wait_until(lambda: services.tasks.length() == 1, 60, "it is queued")


def test_a_renewed_lease_keeps_every_claim_alive_without_touching_one(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(3)]
    claims = [claimed(services, debate) for debate in made]
    rows = place.sql("SELECT xmin::text, debates::text FROM debates ORDER BY id")
    lapse_lease(place)
    assert renew_lease(services, WORKER), "nobody has released anything yet"
    assert sweep(services) == 0
    assert place.sql("SELECT xmin::text, debates::text FROM debates ORDER BY id") == rows
    assert [commit_turn(services, claim, CLAIM) for claim in claims] == [Result.STORED] * 3


def test_a_lease_holds_for_as_long_as_the_settings_say(services: Services, place: Place) -> None:
    begin_lease(services, "one")
    ensure_lease(services, "two")
    assert renew_lease(services, "two")
    seconds = place.sql("SELECT extract(epoch FROM expires_at - renewed_at)::float FROM worker_leases")
    assert [round(one, 3) for (one,) in seconds] == [services.settings.claim_seconds] * 2


def test_a_worker_whose_lease_lapsed_commits_nothing_before_it_is_swept_nor_after(
    services: Services, place: Place, debate: Debate
) -> None:
    late = claimed(services, debate)
    lapse_lease(place)
    assert commit_turn(services, late, CLAIM) is Result.LEASE_LAPSED
    assert fail(services, late) is Result.LEASE_LAPSED
    assert sweep(services) == 1
    assert commit_turn(services, late, CLAIM) is Result.CLAIM_LOST
    assert fail(services, late) is Result.CLAIM_LOST
    assert (renew_lease(services, WORKER), turn_count(services, debate)) == (False, 1)


def test_a_worker_that_begins_a_new_lease_has_nothing_of_what_it_claimed_before(
    services: Services, place: Place, debate: Debate
) -> None:
    late = claimed(services, debate)
    lapse_lease(place)
    assert sweep(services) == 1
    ensure_lease(services)
    assert commit_turn(services, late, CLAIM) is Result.CLAIM_LOST
    again = claimed(services, debate)
    assert commit_turn(services, late, CLAIM) is Result.CLAIM_LOST
    assert take_turn(services, again, CLAIM) is not None


def test_a_worker_that_ends_releases_what_it_has_at_once(services: Services, place: Place, debate: Debate) -> None:
    others = a_debate(services)
    claimed(services, debate)
    claimed(services, others, "another worker")
    end_lease(services, WORKER)
    assert claim_of(place, debate) == UNCLAIMED_AND_DUE
    assert claim_of(place, others)[0][1] == "another worker"
    assert place.sql("SELECT worker_id FROM worker_leases") == [("another worker",)]
    end_lease(services, WORKER)


def waits(place: Place, event: str, count: int) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {} = %s"
    column = "wait_event" if event == "PgSleep" else "wait_event_type"
    return place.sql(query.format(column), event) == [(count,)]


def test_a_claim_under_way_while_its_lease_ends_leaves_nothing_claimed(
    services: Services, place: Place, debate: Debate
) -> None:
    """As when a worker ends in the middle of a claim: without its lease nobody would look at the debate again."""
    ensure_lease(services)
    with ThreadPoolExecutor(2) as pool:
        with writes_waiting(place, "UPDATE ON debates", CLAIMS):
            claiming = pool.submit(advance.claim, services, WORKER, [debate.id], Room({}, 1), 1)
            wait_until(lambda: waits(place, "PgSleep", 1), 60, "the claim is in the middle of its statement")
            ending = pool.submit(end_lease, services, WORKER)
            wait_until(lambda: ending.done() or waits(place, "Lock", 1), 60, "the lease ends, or waits for the claim")
        claiming.result(30)
        ending.result(30)
    assert claim_of(place, debate) == UNCLAIMED_AND_DUE


def test_a_claim_under_way_while_its_lease_lapses_is_left_to_the_next_sweep(
    services: Services, place: Place, debate: Debate
) -> None:
    ensure_lease(services)
    with ThreadPoolExecutor(1) as pool:
        with writes_waiting(place, "UPDATE ON debates", CLAIMS):
            claiming = pool.submit(advance.claim, services, WORKER, [debate.id], Room({}, 1), 1)
            wait_until(lambda: waits(place, "PgSleep", 1), 60, "the claim is in the middle of its statement")
            lapse_lease(place)
            sweep(services)
        claiming.result(30)
    sweep(services)
    assert claim_of(place, debate) == UNCLAIMED_AND_DUE


# Sweeping.


def test_what_nobody_can_move_is_left_alone(services: Services, place: Place, debate: Debate) -> None:
    control.pause_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT due_at FROM debates") == [(None,)]
    assert sweep(services) == 0
    assert place.sql("SELECT due_at FROM debates") == [(None,)]


def test_a_backoff_needs_no_sweep_to_be_claimed_when_it_is_over(
    services: Services, place: Place, debate: Debate
) -> None:
    fail(services, claimed(services, debate))
    assert advance.claim(services, WORKER, [], Room({}, 5), 5) == []
    end_backoff(place, debate)
    assert len(advance.claim(services, WORKER, [], Room({}, 5), 5)) == 1


def test_one_worker_sweeps_at_a_time(services: Services, place: Place, debate: Debate) -> None:
    claimed(services, debate)
    lapse_lease(place)
    with psycopg.connect(str(place.settings.database_url)) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (leases.SWEEP_LOCK,))
        assert sweep(services) == 0
        assert claim_of(place, debate)[0][1] == WORKER
    assert sweep(services) == 1


def test_a_worker_that_freezes_while_it_sweeps_keeps_others_from_it_for_seconds_only(
    services: Services, place: Place, debate: Debate
) -> None:
    claimed(services, debate)
    lapse_lease(place)
    frozen = services.engine.connect()
    assert leases.try_sweep_lock(frozen)
    wait_until(lambda: sweep(services) == 1, 60, "another sweeps")
    frozen.invalidate()
    frozen.close()


def test_readiness_counts_live_leases(services: Services, place: Place) -> None:
    ensure_lease(services, "one")
    ensure_lease(services, "two")
    assert readiness(services).workers == 2
    lapse_lease(place, "one")
    assert readiness(services).workers == 1
    sweep(services)
    assert place.sql("SELECT worker_id FROM worker_leases") == [("two",)]


# Claims that a worker has and does not know of.


def test_only_what_is_unknown_and_not_young_is_released(services: Services, place: Place) -> None:
    known, unknown, young, others = (a_debate(services) for _ in range(4))
    for debate in (known, unknown, young):
        claimed(services, debate)
    claimed(services, others, "another worker")
    token, *_ = [age_claim(place, debate.id, seconds=10) for debate in (known, unknown, others)]
    assert release_unknown(services, WorkKind.TURN, WORKER, [token], now()) == 1
    assert claim_of(place, unknown) == UNCLAIMED_AND_DUE
    for debate in (known, young, others):
        assert claim_of(place, debate)[0][0] is not None
    assert release_unknown(services, WorkKind.TURN, WORKER, [], now()) == 1, "with no token in flight as well"
    assert claim_of(place, known) == UNCLAIMED_AND_DUE
