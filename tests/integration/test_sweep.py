"""The sweeper finds what nobody looks at, and does not multiply a backlog."""

from uuid import UUID

import pytest
from harness import Place, new_debate, wait_until

from app.api.schemas import CreateDebateBody
from app.core.access import OPERATOR
from app.core.debate import Debate
from app.store.sweeping import become_the_sweeper
from app.usecases import advance, control
from app.usecases.create import create_debate
from app.usecases.services import Services
from app.usecases.sweep import lost_after_seconds, sweep, worker_seen


def queued(services: Services, place: Place, count: int) -> None:
    wait_until(lambda: services.tasks.length() == count, 5, f"{count} tasks are queued")


@pytest.fixture
def debate(services: Services, place: Place) -> Debate:
    made = create_debate(services, OPERATOR, CreateDebateBody(**new_debate()).new_debate()).debate
    queued(services, place, 1)
    return made


def test_a_task_that_redis_lost_is_queued_again(services: Services, place: Place, debate: Debate) -> None:
    place.redis().flushdb()
    assert sweep(services) == 0, "it was queued just now: its worker may be about to claim it"
    place.sql("UPDATE debates SET queued_at = now() - interval '4 seconds'")
    assert sweep(services) == 1
    queued(services, place, 1)


def test_a_backlog_is_not_multiplied(services: Services, place: Place, debate: Debate) -> None:
    place.sql("UPDATE debates SET queued_at = now() - interval '1 hour', due_at = now() - interval '1 hour'")
    assert sweep(services) == 0, "there is a task for it, however long it waits"


def test_a_part_of_a_backlog_that_was_lost_is_found(services: Services, place: Place, debate: Debate) -> None:
    create_debate(services, OPERATOR, CreateDebateBody(**new_debate()).new_debate())
    queued(services, place, 2)
    place.redis().rpop("debates")
    assert sweep(services) == 0
    place.sql("UPDATE debates SET queued_at = now() - interval '61 seconds'")
    assert sweep(services) == 2


def test_a_lapsed_claim_is_queued_and_a_live_one_is_not(services: Services, place: Place, debate: Debate) -> None:
    held = advance.claim(services, debate.id, "a worker that dies")
    place.redis().flushdb()
    assert held is not None
    assert sweep(services) == 0
    place.sql("UPDATE debates SET claim_expires_at = now(), due_at = now()")
    assert sweep(services) == 1
    assert advance.claim(services, debate.id, "another") is not None


def test_keeping_a_claim_alive_keeps_the_sweeper_away(services: Services, place: Place, debate: Debate) -> None:
    held = advance.claim(services, debate.id, "worker")
    assert held is not None
    place.sql("UPDATE debates SET claim_expires_at = now(), due_at = now()")
    assert advance.renew_claims(services, [(debate.id, held.token)]) == {held.token}
    assert advance.renew_claims(services, [(debate.id, UUID(int=7))]) == set()
    assert sweep(services) == 0
    [(seconds,)] = place.sql("SELECT extract(epoch FROM claim_expires_at - now()) FROM debates")
    assert 2 < seconds <= services.settings.claim_seconds


def test_a_backoff_that_is_over_is_queued(services: Services, place: Place, debate: Debate) -> None:
    held = advance.claim(services, debate.id, "worker")
    assert held is not None
    advance.record_failure(services, held, "busy", permanent=False, retry_after_seconds=None, jitter=0)
    place.redis().flushdb()
    assert sweep(services) == 0
    place.sql("UPDATE debates SET due_at = now(), next_attempt_at = now()")
    assert sweep(services) == 1


def test_what_nobody_can_move_is_left_alone(services: Services, place: Place, debate: Debate) -> None:
    place.redis().flushdb()
    control.pause_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT due_at FROM debates") == [(None,)]
    assert sweep(services) == 0


def test_one_worker_sweeps_at_a_time(services: Services, place: Place, debate: Debate) -> None:
    place.redis().flushdb()
    place.sql("UPDATE debates SET queued_at = NULL")
    import psycopg

    from app.store.sweeping import SWEEP_LOCK

    with psycopg.connect(str(place.settings.database_url)) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (SWEEP_LOCK,))
        assert sweep(services) == 0
    assert sweep(services) == 1


def test_a_worker_that_freezes_while_it_sweeps_keeps_others_from_it_for_seconds_only(
    services: Services, place: Place, debate: Debate
) -> None:
    place.redis().flushdb()
    place.sql("UPDATE debates SET queued_at = NULL")
    frozen = services.engine.connect()
    assert become_the_sweeper(frozen)
    wait_until(lambda: sweep(services) == 1, 15, "another sweeps")
    frozen.invalidate()
    frozen.close()


def test_a_row_that_somebody_works_on_is_skipped(services: Services, place: Place, debate: Debate) -> None:
    import psycopg

    place.redis().flushdb()
    place.sql("UPDATE debates SET queued_at = NULL")
    with psycopg.connect(str(place.settings.database_url)) as other:
        other.execute("SELECT 1 FROM debates FOR UPDATE")
        assert sweep(services) == 0
    assert sweep(services) == 1


def test_workers_that_are_seen_are_counted(services: Services, place: Place) -> None:
    from app.usecases.health import readiness

    worker_seen(services, "one")
    worker_seen(services, "two")
    worker_seen(services, "two")
    assert readiness(services).workers == 2
    place.sql("UPDATE workers SET seen_at = now() - interval '20 seconds' WHERE id = 'one'")
    assert readiness(services).workers == 1
    place.sql("UPDATE workers SET seen_at = now() - interval '20 minutes' WHERE id = 'one'")
    sweep(services)
    assert place.sql("SELECT id FROM workers") == [("two",)]


@pytest.mark.parametrize(
    ("queue_length", "due", "after"), [(0, 0, 3), (0, 9, 3), (5, 5, None), (9, 5, None), (4, 5, 60)]
)
def test_when_a_queued_debate_counts_as_lost(queue_length: int, due: int, after: float | None) -> None:
    assert lost_after_seconds(queue_length, due) == after
