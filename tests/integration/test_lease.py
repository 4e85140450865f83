"""One row keeps all of a worker's claims alive; and what becomes of them when it could not be renewed in time."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from claimed_debates import CLAIM, a_debate, until
from harness import Place
from situations.leases import expire, extend
from worker_loop import PATIENCE_SECONDS, database_away, live_lease, with_settings

from app.core.changes import Result
from app.core.claims import Room
from app.usecases import advance
from app.usecases.advance import Claim
from app.usecases.services import Services
from app.usecases.sweep import sweep
from worker.lease import Lease
from worker.process import DATABASE_CONNECTIONS, POOL_CONNECTIONS, worker_services


def claimed_under(services: Services, lease: Lease) -> Claim:
    [claim] = advance.claim(services, lease.worker_id, [a_debate(services).id], Room({}, 0), 1)
    return claim


def result_of(services: Services, claim: Claim) -> Result:
    [outcome] = advance.commit(services, [advance.turn_step(claim, CLAIM, lambda _: False)])
    return outcome.result


def leases(place: Place) -> list[str]:
    return [row[0] for row in place.sql("SELECT worker_id FROM worker_leases ORDER BY 1")]


def is_due(place: Place) -> bool:
    return place.sql("SELECT claim_token, due_at <= now() FROM debates") == [(None, True)]


async def test_a_lease_is_renewed_and_its_claims_outlive_it_many_times(services: Services, place: Place) -> None:
    ours = with_settings(services, claim_seconds=2)

    async with live_lease(ours, lambda: pytest.fail("it was never lost")) as lease:
        claim = claimed_under(ours, lease)
        [(first,)] = place.sql("SELECT expires_at FROM worker_leases")
        longer = "SELECT expires_at > %s + interval '4 seconds' FROM worker_leases"
        await until(lambda: place.sql(longer, first) == [(True,)], PATIENCE_SECONDS, "it was renewed again and again")
        assert sweep(services) == 0
        assert result_of(ours, claim) is Result.STORED
        assert lease.worker_id == "worker"


async def test_statements_that_hold_the_whole_pool_do_not_cost_the_lease(place: Place) -> None:
    """They take longer than the lease lasts without a renewal, and more of them wait for a connection."""
    ours = worker_services(place.settings.with_changes(claim_seconds=4))
    longest_expired = "SELECT extract(epoch FROM clock_timestamp() - expires_at) FROM worker_leases"
    count = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, 'debate-worker:')"
    expired: list[float] = []
    connections: list[int] = []

    def sleep() -> None:
        with ours.engine.autocommit() as connection:
            connection.execute("SELECT pg_sleep(8)")

    def watch(sleeping: Sequence[Future[None]]) -> None:
        while not all(one.done() for one in sleeping[:POOL_CONNECTIONS]):
            expired.extend(row[0] for row in place.sql(longest_expired))
            connections.append(place.sql(count)[0][0])
            time.sleep(0.1)

    async with live_lease(ours, lambda: pytest.fail("the lease was lost")):
        with ThreadPoolExecutor(POOL_CONNECTIONS + 2) as threads:
            await asyncio.to_thread(watch, [threads.submit(sleep) for _ in range(POOL_CONNECTIONS + 2)])
    ours.engine.dispose()
    assert max(expired) < 0, "it was never expired"
    assert max(connections) == DATABASE_CONNECTIONS


async def test_after_an_outage_in_which_nobody_swept_all_goes_on_under_the_same_id(
    services: Services, place: Place
) -> None:
    ours = with_settings(services, claim_seconds=3)

    async with live_lease(ours, lambda: pytest.fail("an answer that was paid for was thrown away")) as lease:
        claim = claimed_under(ours, lease)
        with database_away(place):
            await until(lambda: not lease.is_live, PATIENCE_SECONDS, "it has lapsed")
            assert not lease.may_sweep
        await until(lambda: lease.is_live, PATIENCE_SECONDS, "it was renewed")
        assert (lease.worker_id, leases(place)) == ("worker", ["worker"])
        assert not lease.may_sweep, "others must get the chance to renew theirs first"
        assert result_of(ours, claim) is Result.STORED
        await until(lambda: lease.may_sweep, PATIENCE_SECONDS, "the others had their chance")


async def test_a_claim_whose_lease_has_lapsed_stores_nothing_until_it_is_renewed(
    services: Services, place: Place
) -> None:
    async with live_lease(with_settings(services)) as lease:
        claim = claimed_under(services, lease)
        expire(place)
        assert result_of(services, claim) is Result.LEASE_LAPSED
        assert advance.claim(services, lease.worker_id, [a_debate(services).id], Room({}, 0), 1) == []
        extend(place, 60)
        assert result_of(services, claim) is Result.STORED


async def test_a_process_that_was_frozen_gives_up_what_it_did_and_begins_anew(services: Services, place: Place) -> None:
    ours = with_settings(services, claim_seconds=2)
    lost: list[str] = []

    async with live_lease(ours, lambda: lost.append(lease.worker_id)) as lease:
        claim = claimed_under(ours, lease)
        time.sleep(2.5)  # the whole event loop stands still, as by SIGSTOP
        assert not lease.is_live
        await until(lambda: lease.is_live, PATIENCE_SECONDS, "it has begun anew")
        assert lost == ["worker"]
        assert (lease.worker_id, leases(place)) == ("worker.2", ["worker.2"])
        assert is_due(place), "nobody had to wait until it was swept"
        assert result_of(ours, claim) is Result.CLAIM_LOST


async def test_an_end_releases_what_is_claimed_at_once(services: Services, place: Place) -> None:
    async with live_lease(with_settings(services)) as lease:
        claimed_under(services, lease)
        assert not is_due(place)
    assert is_due(place)
    assert leases(place) == []


async def test_an_end_without_a_database_leaves_the_claims_to_the_sweeper(services: Services, place: Place) -> None:
    ours = with_settings(services, claim_seconds=2)

    lease = Lease(ours, "worker", lambda: pytest.fail("it was never lost"))
    lease.start()
    await until(lambda: lease.is_live, PATIENCE_SECONDS, "the lease has begun")
    claimed_under(ours, lease)
    with database_away(place):
        await lease.end()
    assert not is_due(place)
    expire(place)
    assert sweep(services) == 1
    assert is_due(place)


async def test_a_renewal_that_fails_for_any_other_reason_is_tried_again(services: Services, place: Place) -> None:
    ours = with_settings(services, claim_seconds=2)

    async with live_lease(ours) as lease:
        place.sql("ALTER TABLE worker_leases RENAME TO elsewhere")
        await until(lambda: not lease.is_live, PATIENCE_SECONDS, "it has lapsed")
        place.sql("ALTER TABLE elsewhere RENAME TO worker_leases")
        await until(lambda: lease.is_live, PATIENCE_SECONDS, "it was renewed")
        assert lease.worker_id == "worker"


async def test_a_lease_begins_as_soon_as_the_database_is_there(
    services: Services, place: Place, logs: list[Any]
) -> None:
    lease = Lease(with_settings(services), "worker", lambda: pytest.fail("there was nothing to lose"))
    with database_away(place):
        lease.start()
        await until(lambda: bool(logs), PATIENCE_SECONDS, "it has tried")
        assert not lease.is_live
    await until(lambda: lease.is_live, PATIENCE_SECONDS, "it has begun")
    assert lease.worker_id in leases(place)
    await lease.end()
