"""debate_client against a real server, over networks that lose things."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from byte_proxy import byte_proxy
from cli_home import NOBODY, url_of
from harness import Api, Place, assert_whole, wait_until
from lossy_proxy import GATEWAY_TIMEOUT, LOSE_ANSWER, LOSE_REQUEST, UNAVAILABLE, lossy_proxy
from watchers import EXTERNAL, a_dialogue, argue

from app.cli.stack import free_port
from debate_client import (
    ActionNotAllowed,
    Appeal,
    AsyncClient,
    Client,
    ClientError,
    InvalidInput,
    NoAnswer,
    NotFound,
    Resolve,
    Retries,
    Rule,
    Seat,
    Turn,
)

QUICK = Retries((0.05, 0.1, 0.2, 0.4))


@pytest.fixture
def client(api: Api) -> Iterator[Client]:
    with Client(url_of(api), "", retries=QUICK) as made:
        yield made


def in_background(target: Callable[..., object], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def test_errors_are_classes(client: Client) -> None:
    with pytest.raises(NotFound, match="DEBATE_NOT_FOUND"):
        client.debate(NOBODY)
    with pytest.raises(InvalidInput, match="debate_type"):
        client.create("A motion", debate_type="quarrel")
    created = client.create("A motion")
    with pytest.raises(ActionNotAllowed) as refusal:
        client.argue(created.debate.id, "proposer", "Again me", created.argument.id)
    assert refusal.value.suggestion
    with pytest.raises(NoAnswer, match="No server answers"):
        Client(f"http://127.0.0.1:{free_port('127.0.0.1')}", "", retries=Retries(())).debate(NOBODY)


def test_pages_are_one_list(client: Client) -> None:
    made = [client.create("Pages", title=f"Page {number} of many").debate.id for number in range(7)]
    found = [debate.id for debate in client.debates(page_size=3, q="of many")]
    assert found == made[::-1]


def test_a_lost_answer_stores_nothing_twice(api: Api) -> None:
    with lossy_proxy(url_of(api)) as proxy:
        proxy.mishaps = [LOSE_ANSWER, UNAVAILABLE, LOSE_REQUEST, GATEWAY_TIMEOUT]
        proxy.retry_after = "0"
        told: list[float] = []
        client = Client(proxy.url, "", retries=QUICK, on_retry=lambda _, seconds: told.append(seconds))
        created = client.create("Said once")
        assert proxy.mishaps == []
        assert len(told) == 4
    assert len({post["client_request_id"] for post in proxy.posts}) == 1
    assert api.transcript(created.debate.id)["debate"]["argument_count"] == 1


@pytest.mark.long
def test_watch_tells_each_turn_once_over_a_restart_of_the_server(place: Place) -> None:
    port = free_port("127.0.0.1")
    api = place.start_api(port)
    debate_id, motion = a_dialogue(api)
    seen: list[int] = []

    def watch() -> None:
        with Client(url_of(api), "") as client:
            seen.extend(turn.seq for turn in client.watch(debate_id))

    watcher = in_background(watch)
    first = argue(api, debate_id, motion)
    place.programs[-1].terminate()
    assert place.programs[-1].wait(60) == 0
    api = place.start_api(port)
    argue(api, debate_id, first, path="resolution")
    watcher.join(40)
    assert seen == [1, 2, 3, 4]


def test_watch_resumes_when_the_connection_breaks_off(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    with byte_proxy(("127.0.0.1", int(api.http.base_url.port or 0))) as proxy:
        proxy.answers_instead = [b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", b""]
        turns = Client(f"http://127.0.0.1:{proxy.port}", "").watch(debate_id)
        assert next(turns).seq == 1
        proxy.answers_instead = [b""]
        argue(api, debate_id, argue(api, debate_id, motion), path="resolution")
        assert [turn.seq for turn in turns] == [2, 3, 4]


def test_a_stream_with_changes_tells_the_state_first_and_then_every_change(api: Api, client: Client) -> None:
    debate_id, motion = a_dialogue(api)
    events = client.events(debate_id, changes=True)
    first = list(itertools.islice(events, 2))
    assert [event.name for event in first] == ["new_argument", "state_changed"]
    client.pause(debate_id)
    paused = next(events)
    assert paused.debate is not None
    assert (paused.name, paused.id, paused.debate.status) == ("state_changed", None, "paused")
    client.stop(debate_id)
    *_, stopped, last = events
    assert stopped.debate is not None
    assert (stopped.debate.status, last.name) == ("stopped", "debate_closed")
    # Without it, the stream has turns alone.
    assert [event.name for event in client.events(debate_id)] == ["new_argument", "debate_closed"]
    assert [event.name for event in client.events(debate_id, after=motion)] == ["debate_closed"]


def test_a_watcher_of_nothing_is_told(client: Client) -> None:
    with pytest.raises(NotFound):
        next(client.watch(NOBODY))


def test_three_seats_hold_a_debate_and_each_function_is_called_once_a_turn(api: Api, client: Client) -> None:
    debate = client.create("Seats", seats=EXTERNAL).debate
    called: list[tuple[str, int]] = []

    def proposer(turn: Turn) -> str | Appeal | Resolve:
        called.append(("proposer", turn.last.seq))
        mine = [argument.type for argument in turn.transcript if argument.role == "proposer"]
        return [Appeal("Judge!"), "A reason", Resolve("Agreed")][len(mine)]

    def opponent(turn: Turn) -> str:
        called.append(("opponent", turn.last.seq))
        assert turn.motion == "Seats"
        assert str(turn.transcript).count("\n\n") == max(0, len(turn.transcript) - 1)
        return f"Against {turn.last.content}"

    def arbitrator(turn: Turn) -> Rule:
        called.append(("arbitrator", turn.last.seq))
        return Rule("Go on")

    threads = []
    for role, function in (("proposer", proposer), ("opponent", opponent), ("arbitrator", arbitrator)):
        seat = Seat(role, client)
        seat.answer(function)
        threads.append(in_background(seat.hold, debate.id))
    for thread in threads:
        thread.join(60)
    turns = [argument["type"] for argument in api.transcript(debate.id)["arguments"]]
    assert turns == ["CLAIM", "APPEAL", "RULING", "CLAIM", "CLAIM", "RESOLUTION", "RULING"]
    assert sorted(called, key=lambda call: call[1]) == [
        ("opponent", 1),
        ("proposer", 2),
        ("arbitrator", 3),
        ("proposer", 4),
        ("opponent", 5),
        ("proposer", 6),
    ]


def test_a_paused_debate_is_answered_after_it_and_the_function_is_not_called_again(api: Api, client: Client) -> None:
    debate = client.create("Paused", seats=EXTERNAL).debate
    calls: list[int] = []
    seat = Seat("opponent", client)

    @seat.answer
    def answer(turn: Turn) -> str:
        calls.append(turn.last.seq)
        client.pause(debate.id)
        return "Said after the pause"

    holder = in_background(seat.hold, debate.id)
    wait_until(lambda: api.debate(debate.id)["status"] == "paused", 60, "the function was called")
    time.sleep(0.3)
    client.resume(debate.id)
    wait_until(lambda: api.debate(debate.id)["argument_count"] == 2, 60, "the answer is stored")
    client.stop(debate.id)
    holder.join(15)
    assert not holder.is_alive()
    assert calls == [1]


def test_a_seat_started_again_says_nothing_twice_and_is_not_asked_again(api: Api, client: Client) -> None:
    debate = client.create("Crash", seats=EXTERNAL).debate

    class Crash(BaseException):
        """As SIGKILL between storing the answer and hearing of it."""

    with lossy_proxy(url_of(api)) as proxy:
        proxy.mishaps = [LOSE_ANSWER]

        def crash(*_: object) -> None:
            raise Crash

        first = Seat("opponent", Client(proxy.url, "", on_retry=crash))
        first.answer(lambda _: "The one answer")
        with pytest.raises(Crash):
            first.hold(debate.id)
    second = Seat("opponent", client)
    calls: list[int] = []
    second.answer(lambda turn: calls.append(turn.last.seq) or "Another")
    holder = in_background(second.hold, debate.id)
    time.sleep(0.5)
    client.stop(debate.id)
    holder.join(15)
    assert calls == []
    assert [argument["content"] for argument in api.transcript(debate.id)["arguments"]] == ["The one answer"]


def test_a_function_that_returns_something_else_is_told(client: Client) -> None:
    debate = client.create("Odd", seats=EXTERNAL).debate
    seat = Seat("opponent", client)
    seat.answer(lambda _: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="not NoneType"):
        seat.hold(debate.id)


def test_hold_any_takes_the_next_open_debate(api: Api, client: Client) -> None:
    for open_ in list(client.debates(pending_first_opponent=True)):
        client.stop(open_.id)
    seat = Seat("opponent", client, poll_interval_seconds=0.1)
    seat.answer(lambda _: "Here I am")
    ended: list[str] = []
    holder = in_background(lambda: ended.append(seat.hold_any().id))
    debate = client.create("Anyone?", seats=EXTERNAL).debate
    wait_until(lambda: api.debate(debate.id)["argument_count"] == 2, 60, "the seat was found and answered")
    client.stop(debate.id)
    holder.join(15)
    assert ended == [debate.id]


def test_the_asynchronous_client_does_the_same(place: Place) -> None:
    api = place.start_api()
    place.start_worker()

    async def both() -> list[int]:
        async with AsyncClient(url_of(api), "") as client:
            assert await client.answers()
            created = await client.create(
                "Async", format="rounds", seats={"opponent": "external"}, limits={"max_rounds": 2}
            )
            seat = Seat("opponent", client)

            @seat.answer
            async def answer(turn: Turn) -> str:
                await asyncio.sleep(0)
                return f"Against {turn.last.seq}"

            holding = asyncio.create_task(seat.hold_async(created.debate.id))
            seen = [turn.seq async for turn in client.watch(created.debate.id)]
            assert (await holding).status == "completed"
            assert [debate.id async for debate in client.debates()] == [created.debate.id]
            with pytest.raises(ClientError):
                await client.debate(NOBODY)
            return seen

    seen = asyncio.run(both())
    assert seen == list(range(1, 8))
    [debate] = api.http.get("/debates").json()["data"]["debates"]
    assert_whole(api.transcript(debate["id"]), rounds=2)
