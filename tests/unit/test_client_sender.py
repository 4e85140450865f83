"""debate_client without a server: what is sent again, what is raised, and how a stream is read."""

import asyncio
import inspect
import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest

import debate_client
from debate_client import AsyncClient, Client, NoAnswer, NotADebateServer, Refused, Retries, Unavailable
from debate_client import requests as described
from debate_client.answers import Argument, Debate
from debate_client.calls import Iteration, Method, Server
from debate_client.client import completed
from debate_client.sender import EventParser, Sender

URL = "http://server.example"
DEBATE = {"id": "d", "title": "t", "status": "running", "state": "AWAITING_OPPONENT", "seats": {}}


def ok(data: Any) -> httpx.Response:
    return httpx.Response(200, json={"success": True, "data": data})


def refused(status: int, code: str, **headers: str) -> httpx.Response:
    error = {"code": code, "message": "No.", "suggestion": "Later", "field": "x"}
    return httpx.Response(status, headers=headers, json={"success": False, "error": error})


def lost() -> httpx.HTTPError:
    return httpx.ReadError("reset")


class ScriptedHttp:
    """Answers from a list, and writes down what is asked of it."""

    def __init__(self, answers: Iterable[httpx.Response | httpx.HTTPError]) -> None:
        self._answers = list(answers)
        self.sent: list[Any] = []
        self.pauses: list[float] = []

    async def ask(self, *_: str, **options: Any) -> httpx.Response:
        self.sent.append(options.get("json"))
        answer = self._answers.pop(0)
        if isinstance(answer, httpx.HTTPError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def carried_out(
    request: described.Request[Any],
    answers: Iterable[httpx.Response | httpx.HTTPError],
    retries: Retries | None = None,
) -> tuple[Any, list[float], list[Any]]:
    """(the result or the exception, the pauses, the bodies that were sent)"""
    http = ScriptedHttp(answers)
    sender = Sender(http, URL, clock=lambda: sum(http.pauses))
    try:
        result = completed(sender.send(request, retries))
    except Exception as problem:
        result = problem
    return result, http.pauses, http.sent


def test_a_move_is_repeated_with_the_same_request_id_until_it_is_answered() -> None:
    stored = {"debate": DEBATE, "argument": _argument()}
    answers = [lost(), refused(503, "SERVICE_UNAVAILABLE"), httpx.Response(502, content=b"<html>"), ok(stored)]
    result, pauses, sent = carried_out(described.argue("d", "opponent", "No", "m"), answers)
    assert result.argument.seq == 2
    assert pauses == [0.5, 1.0, 2.0]
    assert len({body["client_request_id"] for body in sent}) == 1
    assert sent[0]["client_request_id"]


def _argument(**more: Any) -> dict[str, Any]:
    return {"id": "a", "debate_id": "d", "seq": 2, "type": "CLAIM", "role": "opponent", "content": "No", **more}


def test_the_servers_retry_after_counts_where_it_is_longer() -> None:
    answers = [refused(429, "RATE_LIMIT_EXCEEDED", **{"Retry-After": "7"}), ok(DEBATE)]
    assert carried_out(described.call("GET", "/x"), answers)[1] == [7.0]
    far = [refused(429, "RATE_LIMIT_EXCEEDED", **{"Retry-After": "3600"}), ok(DEBATE)]
    assert carried_out(described.call("GET", "/x"), far)[1] == [30.0]


@pytest.mark.parametrize(
    "request_", [described.create_agent("x"), described.delete("d"), described.call("POST", "/x")], ids=lambda r: r.path
)
def test_what_is_not_safe_to_repeat_is_sent_once(request_: described.Request[Any]) -> None:
    for first in (lost(), refused(503, "SERVICE_UNAVAILABLE")):
        result, pauses, sent = carried_out(request_, [first])
        assert isinstance(result, NoAnswer | Unavailable)
        assert (pauses, len(sent)) == ([], 1)


def test_retries_end() -> None:
    result, pauses, _ = carried_out(described.debate("d"), [lost()] * 6)
    assert isinstance(result, NoAnswer)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]
    result, pauses, _ = carried_out(described.debate("d"), [lost()] * 6, Retries(within_seconds=3))
    assert pauses == [0.5, 1.0]
    result, pauses, _ = carried_out(described.debate("d"), [lost()], Retries(without_answer=False))
    assert (pauses, str(result)) == ([], f"No server answers at {URL} (reset)")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_INPUT", "InvalidInput"),
        (401, "AUTH_FAILED", "AuthFailed"),
        (403, "FORBIDDEN", "Forbidden"),
        (403, "ACTION_NOT_ALLOWED", "ActionNotAllowed"),
        (404, "DEBATE_NOT_FOUND", "NotFound"),
        (409, "DEBATE_EXISTS", "DebateExists"),
        (409, "REQUEST_ID_REUSED", "RequestIdReused"),
        (409, "SEAT_TAKEN", "SeatTaken"),
        (413, "CONTENT_TOO_LARGE", "ContentTooLarge"),
        (500, "INTERNAL_ERROR", "InternalError"),
        (429, "RATE_LIMIT_EXCEEDED", "RateLimited"),
        (418, "A_CODE_OF_TOMORROW", "Refused"),
    ],
)
def test_each_code_is_an_exception(status: int, code: str, kind: str) -> None:
    problem = carried_out(described.delete("d"), [refused(status, code)])[0]
    assert type(problem) is getattr(debate_client, kind)
    assert isinstance(problem, Refused)
    assert (problem.code, problem.message, problem.suggestion) == (code, "No.", "Later")
    assert problem.context["field"] == "x"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"hello": 1}', b"null"])
def test_an_answer_of_something_else_is_told(body: bytes) -> None:
    problem = carried_out(described.debate("d"), [httpx.Response(200, content=body)])[0]
    assert isinstance(problem, NotADebateServer)
    assert str(problem) == f"{URL} answered 200 but is not a debate-runner"


def test_fields_of_tomorrow_are_kept_and_do_no_harm() -> None:
    debate = Debate.of({**DEBATE, "mood": "bright"})
    assert debate.raw["mood"] == "bright"
    argument = Argument.of(_argument(verdict={"winner": "tie", "glory": 3}, round=None))
    assert argument.verdict.raw["glory"] == 3


def test_a_stream_is_read_however_it_is_cut_and_whatever_its_texts_hold() -> None:
    data = json.dumps({"argument": _argument(content="one\u2028two\x85three \x0b four")}, ensure_ascii=False)
    stream = (
        f": hello\n\nretry: 2000\n\nid: a\nevent: new_argument\ndata: {data}\n\nevent: debate_closed\ndata: {{}}\n\n"
    )
    for size in (1, 3, 7, 10_000):
        parser, found = EventParser(), []
        raw = stream.encode()
        for start in range(0, len(raw), size):
            found += parser.feed(raw[start : start + size])
        assert [(event.name, event.id) for event in found] == [("new_argument", "a"), ("debate_closed", None)]
        assert found[0].argument.content == "one\u2028two\x85three \x0b four"


def test_both_clients_have_the_same_methods_and_every_request_is_one() -> None:
    shared = {name for name, value in vars(debate_client.calls.Calls).items() if isinstance(value, Method | Iteration)}
    own = {name for name in vars(Client) if not name.startswith("_")}
    assert own == {name for name in vars(AsyncClient) if not name.startswith("_")}
    builders = {
        name
        for name, function in vars(described).items()
        if inspect.isfunction(function) and "Request[" in str(inspect.signature(function).return_annotation)
    }
    assert {"answers", "debates", "download", "events", "request", "watch"} <= shared
    # Those that other methods are made of.
    assert {name for name in builders if not name.startswith("_")} - shared == {"health", "solutions_page"}


def served(*answers: httpx.Response) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    waiting = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return waiting.pop(0)

    return httpx.MockTransport(answer), asked


def test_a_request_is_sent_once_and_its_answer_comes_as_it_is() -> None:
    transport, asked = served(refused(503, "SERVICE_UNAVAILABLE", **{"X-Request-ID": "r"}))
    with Client(URL, "dbr_x", transport=transport) as client:
        answer = client.request("POST", "/debates", json={"title": 1}, headers={"Idempotency": "no"})
    assert (answer.status_code, answer.headers["X-Request-ID"]) == (503, "r")
    assert [(request.headers["Authorization"], request.headers["Idempotency"]) for request in asked] == [
        ("Bearer dbr_x", "no")
    ]


def test_a_file_is_sent_under_its_type_and_not_again() -> None:
    transport, asked = served(refused(503, "SERVICE_UNAVAILABLE"))
    with Client(URL, "", transport=transport) as client, pytest.raises(Unavailable):
        client.upload("/experiments/import", b"a,b\n", "text/csv", {"name": "n", "absent": None})
    [request] = asked
    assert (request.content, request.headers["Content-Type"], request.url.query) == (b"a,b\n", "text/csv", b"name=n")


class Parts(httpx.SyncByteStream):
    def __init__(self, *parts: bytes) -> None:
        self._parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        self.is_closed = True


def test_a_refused_download_raises_what_the_server_says() -> None:
    transport, _ = served(refused(404, "NOT_FOUND"))
    with Client(URL, "", transport=transport) as client, pytest.raises(debate_client.NotFound):
        next(client.download("/x"))


def test_a_download_that_is_abandoned_is_closed() -> None:
    whole, half = Parts(b"one", b"two"), Parts(b"one", b"two")
    transport, _ = served(httpx.Response(200, stream=whole), httpx.Response(200, stream=half))
    with Client(URL, "", transport=transport) as client:
        assert b"".join(client.download("/x")) == b"onetwo"
        download = client.download("/x")
        assert next(download) == b"one"
        assert not half.is_closed
        del download
        assert (whole.is_closed, half.is_closed) == (True, True)


def test_a_blocking_client_does_not_run_what_waits() -> None:
    with pytest.raises(RuntimeError, match="AsyncClient"):
        completed(asyncio.sleep(0))


def test_a_password_in_the_address_is_not_shown() -> None:
    assert Server("https://user:secret@host.example:8443/path", None).shown_url == "https://host.example:8443/path"


def test_an_open_seat_is_found_on_a_later_page() -> None:
    motion = _argument(type="MOTION", seq=1)
    held = {**DEBATE, "seats": {"proposer": {"player": "external", "held_by": "somebody"}}}
    free = {**DEBATE, "id": "free", "seats": {"proposer": {"player": "external"}}}
    transport, asked = served(
        ok({"debates": [held] * 200, "next_cursor": "further"}),
        ok({"debates": [free], "next_cursor": None}),
        ok({"has_new_argument": True, "action": "debate_closed", "debate_state": "CLOSED", "argument": motion}),
        ok({"debate": {**free, "state": "CLOSED"}}),
    )
    ended = debate_client.Seat("proposer", Client(URL, "", transport=transport)).hold_any()
    assert (ended.id, ended.is_closed) == ("free", True)
    assert [request.url.params.get("cursor") for request in asked[:2]] == [None, "further"]
    assert {request.url.params.get("player") for request in asked[:2]} == {"external"}


def test_a_seat_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="proposer, opponent, arbitrator"):
        debate_client.Seat("judge", Client(URL))
