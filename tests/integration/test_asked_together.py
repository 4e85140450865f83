"""Turns that are stored together and claims that are taken together: no neighbour pays for another."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from claimed_debates import a_debate, claimed
from harness import Place, wait_until
from psycopg.rows import dict_row

from app.bootstrap import build_services, close_services
from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Debate, Limits, Status, TurnType, Usage
from app.core.players import SeatSetup
from app.core.seats import Seat
from app.store.engine import DatabaseAway
from app.together import Together
from app.usecases import advance, control
from app.usecases.advance import HeldTurn
from app.usecases.claiming import Claimer, Untaken
from app.usecases.services import Services

CLAIM = Thought(TurnType.CLAIM, "words", usage=Usage(30, 12, 0.25, 1400))


@pytest.fixture
def narrow(place: Place) -> Iterator[Services]:
    """Services with one connection: while somebody has it, all others come together."""
    services = build_services(place.settings, name="narrow", database_connections=1, patience_seconds=30)
    yield services
    close_services(services)


@contextmanager
def row_locked(place: Place, debate: Debate) -> Iterator[None]:
    with psycopg.connect(str(place.settings.database_url)) as other:
        other.execute("SELECT id FROM debates WHERE id = %s FOR UPDATE", [debate.id])
        yield


def all_together(
    services: Services, together: Together[Any, Any], calls: list[Callable[[], Any]], pool: ThreadPoolExecutor
) -> list[Future[Any]]:
    """The first call by itself, all others in one go."""
    with services.engine.connect():
        asking = [pool.submit(calls[0])]
        wait_until(lambda: together._is_asking and not together._waiting, 10, "the first waits for the connection")
        asking += [pool.submit(call) for call in calls[1:]]
        wait_until(lambda: len(together._waiting) == len(calls) - 1, 10, "the others wait for the first")
    return asking


def commits(services: Services, held: list[HeldTurn]) -> list[Callable[[], HeldTurn | None]]:
    return [partial(advance.commit, services, one, CLAIM, go_on=True) for one in held]


def stored(place: Place, debates: list[Debate]) -> list[int]:
    return [place.sql("SELECT turn_count FROM debates WHERE id = %s", debate.id)[0][0] for debate in debates]


def transactions(place: Place) -> int:
    """In how many the second turns were stored."""
    count: int = place.sql("SELECT count(DISTINCT xmin::text) FROM turns WHERE seq = 2")[0][0]
    return count


def test_turns_that_come_together_are_stored_in_one_transaction(narrow: Services, place: Place) -> None:
    made = [a_debate(narrow) for _ in range(6)]
    held = [claimed(narrow, debate) for debate in made]
    with ThreadPoolExecutor(6) as pool:
        following = [
            one.result(30) for one in all_together(narrow, narrow.committer._together, commits(narrow, held), pool)
        ]
    assert stored(place, made) == [2] * 6
    assert transactions(place) == 2
    for debate, after in zip(made, following, strict=True):
        assert after.debate.id == debate.id
        rows = place.sql("SELECT claim_token, updated_at, next_actor FROM debates WHERE id = %s", debate.id)
        assert rows == [(after.token, after.debate.updated_at, after.debate.cursor.seat.actor)]
        assert advance.commit(narrow, after, CLAIM, go_on=True) is not None


def test_a_row_that_somebody_holds_holds_up_nobody_else(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(4)]
    held = [claimed(services, debate) for debate in made]
    with ThreadPoolExecutor(4) as pool, row_locked(place, made[2]):
        taking = [pool.submit(call) for call in commits(services, held)]
        assert all(taking[number].result(30) for number in (0, 1, 3))
        assert stored(place, made) == [2, 2, 1, 2]
    assert taking[2].result(30) is not None
    assert stored(place, made) == [2] * 4


def test_a_turn_that_postgres_refuses_is_the_only_one_that_fails(narrow: Services, place: Place) -> None:
    made = [a_debate(narrow) for _ in range(4)]
    held = [claimed(narrow, debate) for debate in made]
    calls = commits(narrow, held)
    too_many_tokens = replace(CLAIM, usage=Usage(2**70))
    calls[2] = partial(advance.commit, narrow, held[2], too_many_tokens, go_on=True)
    with ThreadPoolExecutor(4) as pool:
        asking = all_together(narrow, narrow.committer._together, calls, pool)
        assert all(asking[number].result(30) for number in (0, 1, 3))
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            asking[2].result(30)
    assert stored(place, made) == [2, 2, 1, 2]


def test_a_turn_that_is_there_already_and_a_lost_claim_are_dropped_among_others(narrow: Services, place: Place) -> None:
    made = [a_debate(narrow) for _ in range(5)]
    held = [claimed(narrow, debate) for debate in made]
    place.sql(
        "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, player)"
        " VALUES (gen_random_uuid(), %s, 2, 1, 'debater_a', 'CLAIM', 'stored by a twin', 'scripted')",
        made[1].id,
    )
    control.stop_debate(narrow, OPERATOR, made[2].id, None)
    with ThreadPoolExecutor(6) as pool:
        asking = all_together(narrow, narrow.committer._together, commits(narrow, [*held, held[4]]), pool)
        answers = [one.result(30) is not None for one in asking]
    assert answers[:4] == [True, False, False, True]
    assert sorted(answers[4:]) == [False, True], "two with one claim: one of them has it"
    assert stored(place, made) == [2, 1, 1, 2, 2]


def test_a_database_that_goes_away_fails_all_and_all_can_be_tried_again(narrow: Services, place: Place) -> None:
    made = [a_debate(narrow) for _ in range(4)]
    held = [claimed(narrow, debate) for debate in made]
    with ThreadPoolExecutor(4) as pool:
        with narrow.engine.connect():
            first = pool.submit(advance.commit, narrow, held[0], CLAIM, True)
            others = [pool.submit(advance.commit, narrow, one, CLAIM, True) for one in held[1:]]
            wait_until(lambda: len(narrow.committer._together._waiting) == 3, 10, "they wait for the first")
            place.sql(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name ^@ 'narrow:'"
            )
        with pytest.raises(DatabaseAway):
            first.result(30)
        for one in others:
            one.exception(30)
    for one in held:
        advance.commit(narrow, one, CLAIM, go_on=True)
    assert stored(place, made) == [2] * 4


# Claims.


def claims(services: Services, ids: list[UUID]) -> list[Callable[[], HeldTurn | None]]:
    return [partial(advance.claim, services, debate_id, "worker") for debate_id in ids]


def test_claims_that_come_together_each_get_their_own(narrow: Services, place: Place) -> None:
    ordinary = [a_debate(narrow) for _ in range(3)]
    stopped, external = a_debate(narrow), a_debate(narrow, seats={Seat.PROPOSER: SeatSetup("external")})
    control.stop_debate(narrow, OPERATOR, stopped.id, None)
    timed = a_debate(narrow, limits=Limits(max_seconds=1000))
    has_another = a_debate(narrow)
    claimed(narrow, has_another)
    wanted = [*(debate.id for debate in ordinary), ordinary[2].id, stopped.id, external.id, timed.id, has_another.id]
    with ThreadPoolExecutor(len(wanted) + 1) as pool:
        asking = all_together(narrow, narrow.claimer._together, claims(narrow, [*wanted, uuid4()]), pool)
        found = [one.result(30) for one in asking]
    assert [held is not None for held in found[:2]] == [True, True]
    assert [held is not None for held in found[2:4]].count(True) == 1, "a task that is there twice"
    assert [held is not None for held in found[4:]] == [False, False, True, False, False]
    for held in found:
        if held is not None:
            [(token, status)] = place.sql("SELECT claim_token, status FROM debates WHERE id = %s", held.debate.id)
            assert (token, status) == (held.token, "running")
            assert (held.brief.motion.content, held.brief.motion.debate_id) == ("Ban cars", held.debate.id)
    assert place.sql("SELECT deadline_at IS NOT NULL FROM debates WHERE id = %s", timed.id) == [(True,)]


def test_a_damaged_debate_spoils_no_neighbours_claim(narrow: Services, place: Place) -> None:
    made = [a_debate(narrow) for _ in range(4)]
    place.sql("UPDATE debates SET seats = '{}' WHERE id = %s", made[1].id)
    place.sql("DELETE FROM turns WHERE debate_id = %s", made[2].id)
    with ThreadPoolExecutor(4) as pool:
        asking = all_together(narrow, narrow.claimer._together, claims(narrow, [one.id for one in made]), pool)
        assert asking[0].result(30)
        assert asking[3].result(30)
        for damaged in asking[1:3]:
            assert damaged.exception(30) is not None
    assert place.sql("SELECT count(*) FROM debates WHERE claim_token IS NOT NULL") == [(2,)]


def test_a_claim_waits_by_itself_for_a_row_that_somebody_holds(services: Services, place: Place) -> None:
    made = [a_debate(services) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool, row_locked(place, made[1]):
        asking = [pool.submit(call) for call in claims(services, [one.id for one in made])]
        assert asking[0].result(30)
        assert asking[2].result(30)
        assert not asking[1].done()
    assert asking[1].result(30) is not None


def test_a_long_debate_is_claimed_with_its_motion_and_its_last_turns(services: Services) -> None:
    debate = a_debate(services, limits=Limits(max_rounds=100))
    held: HeldTurn | None = claimed(services, debate)
    for _ in range(30):
        assert held is not None
        thought = replace(CLAIM, type=TurnType.RULING) if held.brief.seat is Seat.ARBITRATOR else CLAIM
        held = advance.commit(services, held, thought, go_on=True)
    assert held is not None
    advance.release(services, held)
    again = claimed(services, debate)
    assert again.brief.motion.seq == 1
    assert [turn.seq for turn in again.brief.recent] == list(range(20, 32))
    assert again.brief == replace(held.brief, debate=again.debate)


@pytest.mark.parametrize("before", ["new", "running", "failed before"])
def test_both_ways_to_claim_leave_the_same_rows(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    together, alone = a_debate(services), a_debate(services)
    for debate in (together, alone):
        if before == "running":
            advance.release(services, claimed(services, debate))
        if before == "failed before":
            held = claimed(services, debate)
            advance.record_failure(services, held, "no answer", permanent=False, retry_after_seconds=None, jitter=0)
            place.sql("UPDATE debates SET next_attempt_at = now() WHERE id = %s", debate.id)
    with monkeypatch.context() as patched:
        patched.setattr(advance, "_claim_after_a_look", None)
        claimed(services, together)
    with monkeypatch.context() as patched:
        patched.setattr(Claimer, "claim", lambda *_: Untaken.LOOK)
        claimed(services, alone)
    first, second = (row_of(place, debate) for debate in (together, alone))
    assert first == second
    assert first["status"] == Status.RUNNING.value


def row_of(place: Place, debate: Debate) -> dict[str, Any]:
    """Every column, without what differs between twins: ids, and the moment itself."""
    with psycopg.connect(str(place.settings.database_url), row_factory=dict_row) as connection:
        [row] = connection.execute(
            "SELECT *, round(extract(epoch FROM claim_expires_at - clock_timestamp()) / 10) AS claimed_for,"
            " round(extract(epoch FROM due_at - claim_expires_at)) AS due_after FROM debates WHERE id = %s",
            [debate.id],
        )
    own = {"id", "claim_token", "claim_expires_at", "due_at", "created_at", "updated_at"}
    return {name: value for name, value in row.items() if name not in own}
