"""Two API and three worker processes are one system: any of them may die, and all of them may be replaced."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest
from fleet import Agents, Audience, Fleet
from harness import Place, assert_whole, wait_until
from seating import all_thinking
from watchers import a_dialogue, argue, heard, watching

from scripts.breaking.history import first_violation, read

pytestmark = pytest.mark.long

LONG = 1_000


@pytest.fixture(scope="module")
def fleet(make_place: Callable[[], Place]) -> Iterator[Fleet]:
    made = Fleet(make_place(), apis=2, workers=3)
    made.wait_for_workers(3)
    yield made
    made.place.end_programs()


def test_sockets_on_either_see_the_same_turns_whoever_took_them(fleet: Fleet) -> None:
    first, second = fleet.apis.values()
    debate_id, motion = a_dialogue(first)
    with ExitStack() as stack:
        sockets = [stack.enter_context(watching(api, debate_id)) for api in (first, second)]
        told = [heard(socket)[1]["arguments"] for socket in sockets]
        assert told[0] == told[1]
        turns = [argue(second, debate_id, motion, "opponent")]
        turns.append(argue(first, debate_id, turns[0], "proposer"))
        for socket in sockets:
            assert [heard(socket)[1]["argument"]["id"] for _ in turns] == turns
    assert first.transcript(debate_id) == second.transcript(debate_id)


def test_a_request_repeated_at_the_other_server_stores_nothing_twice(fleet: Fleet) -> None:
    first, second = fleet.apis.values()
    debate_id, motion = a_dialogue(first)
    body = {"role": "opponent", "target_id": motion, "content": "words", "client_request_id": str(uuid4())}
    stored = first.http.post(f"/debates/{debate_id}/arguments", json=body)
    again = second.http.post(f"/debates/{debate_id}/arguments", json=body)
    assert (stored.status_code, again.status_code) == (201, 200)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["data"]["argument"] == stored.json()["data"]["argument"]


def test_an_api_and_a_worker_may_die_at_once(fleet: Fleet) -> None:
    """Killed, not told: their watchers go to the other server, their turns lapse and are taken by other workers."""
    debates = [fleet.create(seats=all_thinking(0.5), limits={"max_rounds": 2}) for _ in range(12)]
    audience = Audience(fleet, debates)
    audience.start()
    wait_until(lambda: holders(fleet) == 3, 60, "every worker has turns in hand")
    # The first worker and the last API.
    victims = [fleet.names[0], fleet.names[-1]]
    for name in victims:
        fleet.end(name, signal.SIGKILL)
    audience.wait(60)
    for debate_id in debates:
        assert_whole(fleet.ask("GET", f"/debates/{debate_id}"), rounds=2)
    assert nothing_is_wrong(fleet, audience) is None
    for name in victims:
        fleet.start(name)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_rolling_restart_of_everything_loses_nothing_and_watchers_miss_nothing(fleet: Fleet) -> None:
    """A hundred debates run all the while: most are far from their end, and are stopped when all was replaced."""
    rounds = [2 if number % 5 == 0 else LONG for number in range(99)]
    debates = [fleet.create(seats=all_thinking(2), limits={"max_rounds": most}) for most in rounds]
    agents = Agents(fleet)
    audience = Audience(fleet, [*debates, agents.debate_id])
    audience.start()
    agents.start()
    wait_until(lambda: holders(fleet) == 3, 60, "every worker has turns in hand")
    for name in fleet.names:
        assert running(fleet) >= 50
        fleet.restart(name)
    fleet.wait_for_workers(3)
    agents.enough.set()
    agents.join(60)
    assert not agents.is_alive()
    assert agents.unexpected is None
    for debate_id, most in zip([*debates, agents.debate_id], [*rounds, LONG], strict=True):
        if most == LONG:
            fleet.ask("POST", f"/debates/{debate_id}/stop")
    audience.wait(120)
    assert 1001 in audience.codes, "servers that went away said so"
    assert set(audience.codes) <= {1001, 1013}, "1013: a busy machine asks to come back later"
    assert agents.acknowledged
    assert nothing_is_wrong(fleet, audience, agents) is None


def holders(fleet: Fleet) -> int:
    """How many workers think about something."""
    return int(fleet.place.sql("SELECT count(DISTINCT claimed_by) FROM debates")[0][0])


def running(fleet: Fleet) -> int:
    return int(fleet.place.sql("SELECT count(*) FROM debates WHERE status = 'running'")[0][0])


def nothing_is_wrong(fleet: Fleet, audience: Audience, agents: Agents | None = None) -> str | None:
    """Of the debates that were watched: every turn once and in order, stored, seen, and none lost that was answered."""
    histories = read(str(fleet.place.settings.database_url))
    for debate_id, received in audience.received.items():
        histories[debate_id].received.append(received)
    if agents:
        histories[UUID(agents.debate_id)].acknowledged = agents.acknowledged
    assert len(audience.received) == len(audience.debates)
    return first_violation(histories[debate_id] for debate_id in audience.received)
