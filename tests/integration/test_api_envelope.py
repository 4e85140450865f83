"""What every answer has in common, and the helpers with which the other tests of the API read answers."""

import re
from contextlib import contextmanager

import pytest
from harness import new_debate

from app.http.errors import HTTP_STATUS_OF

NO_SUCH_DEBATE = "00000000-0000-4000-8000-000000000000"
NEVER_SAID = re.compile(
    r"traceback|psycopg|sqlalchemy|pydantic|werkzeug|\bSELECT\b|\bINSERT\b|\bUPDATE debates|\.py\b|Body\b"
)
MADE_BY_US = re.compile(r"req_[0-9a-f]{16}")


def data_of(answer, status=200):
    """What an answer says when all is well."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert list(body) == ["success", "data"]
    assert body["success"] is True
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-ID"]
    return body["data"]


def refusal_of(answer, code, *words):
    """The error of a refusal: its envelope, its code, its status, and a message with these words."""
    body = answer.json()
    assert list(body) == ["success", "error"], body
    error = body["error"]
    assert body["success"] is False
    assert (error["code"], answer.status_code) == (code, HTTP_STATUS_OF[code]), error
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-ID"]
    assert not NEVER_SAID.search(answer.text), answer.text
    for word in words:
        assert word in error["message"]
    assert None not in error.values()
    return error


def stored(place):
    """How much the database holds, and which transaction was the last to change a debate."""
    return place.sql("SELECT count(*), max(xmin::text::bigint), (SELECT count(*) FROM turns) FROM debates")


@contextmanager
def nothing_written(place):
    before = stored(place)
    yield
    assert stored(place) == before


def test_the_status_of_each_code_is_the_contracts():
    assert HTTP_STATUS_OF == {
        "INVALID_INPUT": 400,
        "AUTH_FAILED": 401,
        "FORBIDDEN": 403,
        "ACTION_NOT_ALLOWED": 403,
        "DEBATE_NOT_FOUND": 404,
        "ARGUMENT_NOT_FOUND": 404,
        "NOT_FOUND": 404,
        "METHOD_NOT_ALLOWED": 405,
        "DEBATE_EXISTS": 409,
        "REQUEST_ID_REUSED": 409,
        "SEAT_TAKEN": 409,
        "CONFLICT": 409,
        "CONTENT_TOO_LARGE": 413,
        "RATE_LIMIT_EXCEEDED": 429,
        "SERVICE_UNAVAILABLE": 503,
        "INTERNAL_ERROR": 500,
    }


@pytest.mark.parametrize("path", ["/health", "/ready", "/debates", "/nothing/here", f"/debates/{NO_SUCH_DEBATE}"])
@pytest.mark.parametrize("request_id", ["x", "0f8c-41:a.b_C", "a" * 100])
def test_a_sane_request_id_comes_back(api, path, request_id):
    assert api.http.get(path, headers={"X-Request-ID": request_id}).headers["X-Request-ID"] == request_id


@pytest.mark.parametrize("request_id", [None, "", "a" * 101, "two words", "<script>", "é", 'a"b', "a/b"])
def test_any_other_request_id_is_replaced(api, request_id):
    headers = {} if request_id is None else {"X-Request-ID": request_id.encode()}
    answers = [api.http.get("/health", headers=headers).headers["X-Request-ID"] for _ in range(2)]
    assert all(MADE_BY_US.fullmatch(answer) for answer in answers)
    assert answers[0] != answers[1]


def test_letters_of_any_script_come_back_as_they_were_sent(api):
    title = "Autos raus? — 車 🚗 \u202e 'quoted' \"twice\" \\ <b>"
    created = data_of(api.http.post("/debates", json=new_debate(title=title, motion_content=title * 2)), 201)
    assert created["debate"]["title"] == title
    assert created["argument"]["content"] == title * 2
    assert api.transcript(created["debate"]["id"])["motion"]["content"] == title * 2


@pytest.mark.parametrize("path", ["/debate", "/debates/", "/debates//", "/api", "/health/x", "/%00"])
def test_an_unknown_route_is_not_found(api, path):
    refusal_of(api.http.get(path), "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/debates", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("DELETE", "/debates", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("POST", f"/debates/{NO_SUCH_DEBATE}", {"DELETE", "GET", "HEAD", "OPTIONS"}),
        ("PATCH", f"/debates/{NO_SUCH_DEBATE}", {"DELETE", "GET", "HEAD", "OPTIONS"}),
        ("GET", f"/debates/{NO_SUCH_DEBATE}/stop", {"OPTIONS", "POST"}),
        ("GET", f"/debates/{NO_SUCH_DEBATE}/ruling", {"OPTIONS", "POST"}),
        ("POST", "/health", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/openapi.json", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(api, method, path, allowed):
    answer = api.http.request(method, path)
    refusal_of(answer, "METHOD_NOT_ALLOWED", *allowed)
    assert set(answer.headers["Allow"].split(", ")) == allowed
