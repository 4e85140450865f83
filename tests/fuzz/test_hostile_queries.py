"""Every query parameter and every header that is looked at, of every page and every address of the API, with values
that were made to break whoever parses them. Never a 500, and always the envelope or the page of that address.

The addresses come from the application's own table; the parameters from the OpenAPI document and, for pages, from here.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from agents import TOKEN
from harness import REPOSITORY, Api, Place, services_of
from hostile import HANDSHAKE, assert_nothing_went_wrong, exchange, head, status_of
from werkzeug.routing import Map

from app.bootstrap import build_relay
from app.http.experiments.shapes import MatchesQuery
from app.http.sessions import DASHBOARD
from app.web.application import make_application
from app.web.query import FILTERS

pytestmark = pytest.mark.long

NOBODY = "00000000-0000-4000-8000-000000000000"
PAGE_PARAMETERS = {
    "/": [
        *("q", "status", "state", "format", "kind", "player", "winner", "tag", "experiment", "error", "since", "until"),
        *("sort", "cursor", "before", "columns", "view"),
    ],
    "/debates/<debate_id>/view": ["from", "turn"],
    "/debates/<debate_id>/history": ["cursor"],
    "/experiments/view": ["cursor"],
    "/experiments/<experiment_id>/debates": [
        *("contestant", "against", "proposer", "opponent", "arm", "motion", "judge", "disagree", "status", "cursor"),
    ],
    "/experiments/<experiment_id>/compare": ["with"],
    "/experiments/<experiment_id>/judge": ["as", "again"],
    "/new": ["from", "player"],
    "/solutions": ["cursor"],
    "/solutions/<solution_id>": ["cursor"],
    "/review": ["cursor"],
    "/sign-in": ["next"],
}
HEADERS = [
    "Host", "Origin", "Referer", "Cookie", "Authorization", "Accept", "Accept-Language", "Last-Event-ID",
    "If-None-Match", "If-Modified-Since", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Content-Type",
    "Range", "X-Request-ID", "Sec-Fetch-Site", "traceparent", "Accept-Encoding", "Transfer-Encoding", "Expect",
]  # fmt: skip


def packed(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode("utf-8", "surrogatepass")).decode().rstrip("=")


MOMENTS = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01", "\u0662\u0660\u0662\u0666-01-01"]
CURSORS = [
    "[" * 1200,
    packed("[" * 100_000)[:4000],
    packed("[" * 1200),
    "WyJcdWQ4MDAiXQ",
    packed(r'["\ud800", "\ud800"]'),
    packed(r'["a\u0000b"]'),
    packed(r'["a\u0000b", "00000000-0000-4000-8000-000000000000"]'),
    packed("[1e999]"),
    packed("[" + "9" * 400 + "]"),
    packed("[9223372036854775808]"),
    packed("[-1]"),
    packed("[NaN]"),
    packed("[true]"),
    packed("[null, null]"),
    packed('{"a": 1}'),
    packed("\ud800"),
    *(packed(json.dumps([moment, NOBODY])) for moment in MOMENTS),
    packed(json.dumps(["2026-01-01T00:00:00+00:00", "not an id"])),
]
VALUES = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "9" * 5000,
    "-" + "9" * 30,
    "2147483648",
    "9223372036854775808",
    "1e5",
    "0x1",
    "1_0",
    "NaN",
    "\u0663",
    "\u00b2",
    "\u2460",
    "true",
    "null",
    "[",
    "]",
    "//[",
    "//[::1",
    "http://[",
    "http://[::1]:99999",
    "http://a:b",
    "//evil.example",
    "/\\evil.example",
    "javascript:1",
    "/a\nb",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\uffff",
    "é",
    "😀",
    "{" * 1200,
    "(" * 500,
    "%",
    "'",
    '"',
    "<b>",
    "../../etc/passwd",
    "a" * 6000,
    NOBODY,
    NOBODY.upper(),
    f"{{{NOBODY}}}",
    f"urn:uuid:{NOBODY}",
    "\u0660" * 32,
    "\u202e",
    "%s%n{0}{{}}",
]
RAW = ["%", "%zz", "%ff%fe", "%c0%80", "%ed%a0%80", "%00", "%u0041", "+", "&&&=", "[]=1", "%5B" * 1200]
"""As they stand in the address."""
HEADER_VALUES = [
    b"",
    b" ",
    b"[",
    b"http://[",
    b"http://[::1",
    b"http://]",
    b"//[",
    b"http://a:99999999",
    b"null",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3\xa9",
    b"*" * 3000,
    b"9" * 3000,
    b"-1",
    b'"',
    b"a=b; c",
    b"=;=;=",
    b"debate_session=",
    b"debate_session=" + b"A" * 43,
    b"debate_session=\xff; theme=[",
    b'debate_session="\\',
    b"Bearer",
    b"Bearer ",
    b"Bearer \xff",
    b"Bearer dbr_\xff",
    b"Bearer dbr_" + b"a" * 43,
    b"Basic \xff",
    b"bytes=0-",
    b"bytes=9-1",
    b"bytes=" + b"0-1," * 500,
    b'W/"',
    b"*/*;q=x",
    b"text/html;q=1e999",
    b"en;q=-1,,;",
    b"application/json; charset=\xff",
    b"multipart/form-data",
    b"multipart/form-data; boundary=" + b"a" * 500,
    b"application/x-www-form-urlencoded",
    b"unix:/x",
    b"1.2.3.4:99999",
    b"[::1",
    b"for=_",
    b"%5B%00",
    b"127.0.0.1:x",
    b"0-0-0-0",
    b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01",
    b"chunked, chunked",
    b"100-continue",
    b"{" * 1000,
    NOBODY.encode(),
    b"Thu, 99 Foo 99999 99:99:99 GMT",
]
Route = tuple[str, str, bool]
"""Method, path and whether it is a page."""


@pytest.fixture(scope="module")
def place(make_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = make_place()
    made.log = tmp_path_factory.mktemp("queries") / "log"
    yield made
    made.end_programs()
    assert_nothing_went_wrong(Path(made.log))


@pytest.fixture(scope="module")
def open_api(place: Place) -> Api:
    return place.start_api(poll_timeout_ms=20)


@pytest.fixture(scope="module")
def guarded_api(place: Place) -> Api:
    return place.start_api(poll_timeout_ms=20, auth_token=TOKEN, trusted_proxies=1, rate_limit="off")


@pytest.fixture(scope="module")
def over(open_api: Api) -> str:
    """A debate that has ended, so that its stream ends too."""
    debate_id = str(open_api.create()["id"])
    assert open_api.http.post(f"/debates/{debate_id}/stop").status_code == 200
    return debate_id


@pytest.fixture(scope="module")
def described(open_api: Api) -> dict[str, dict[str, dict[str, object]]]:
    paths = open_api.http.get("/openapi.json").json()["paths"]
    return {re.sub(r"{(\w+)}", r"<\1>", path): methods for path, methods in paths.items()}


@pytest.fixture(scope="module")
def routes(place: Place, over: str) -> dict[Route, str]:
    """Each with its rule. What only reads is asked of the debate there is, what changes of one there is not."""
    with services_of(place.settings) as services:
        relay = build_relay(services)
        table: Map = make_application(services, relay).url_map
        relay.end()
    found = {}
    for rule in table.iter_rules():
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            debate_id = over if method == "GET" else NOBODY
            path = rule.rule.replace("<debate_id>", debate_id).replace("<path:filename>", "look.css")
            path = re.sub(r"<\w+>", NOBODY, path)
            found[method, path, rule.endpoint.startswith(f"{DASHBOARD}.")] = rule.rule
    assert len(found) > 40
    return found


def is_of_the_parser(status: int, body: bytes) -> bool:
    """Refused before there is a request: in the debate API's envelope, whatever the path. 501 is for an unknown
    Transfer-Encoding."""
    if status not in (400, 413, 414, 417, 431, 501) or not body.startswith(b'{"success"'):
        return False
    return set(json.loads(body)["error"]) == {"code", "message"}


def assert_sane(answer: bytes, route: Route, what: object) -> None:
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    status = status_of(answer)
    told, _, body = answer.partition(b"\r\n\r\n")
    assert status is not None, (route, what, "no answer")
    assert b"x-request-id:" in told.lower(), (route, what, answer[:300])
    if is_of_the_parser(status, body):
        return
    assert status < 500, (route, what, answer[:600])
    if status < 400 or (route[2] and b"text/html" in told):
        return
    # A page too, where the request was refused before its address was looked up.
    start = body.find(b"{")
    refusal = json.loads(body[start : body.rfind(b"}") + 1])
    assert refusal.get("ok", refusal.get("success")) is False, (route, what, refusal)
    assert refusal["error"]["code"], (route, what, refusal)
    assert ("ok" in refusal) == route[1].startswith("/api/v1"), (route, what, refusal)


def ask(api: Api, route: Route, query: str = "", *headers: bytes) -> bytes:
    method, path, _ = route
    target = f"{path}?{query}" if query else path
    return exchange(api, head(f"{method} {target}", "Connection: close", *headers), hang_up=False)


def encoded(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"))


def test_the_parameters_of_the_pages_are_all_here():
    """As their code asks for them."""
    code = "".join(path.read_text() for path in (REPOSITORY / "app" / "web").glob("*.py"))
    asked = set(re.findall(r"""(?:args|given)(?:\.get\(|, )"(\w+)\"""", code))
    asked |= {*FILTERS, *MatchesQuery.model_fields} - {"limit"}
    assert asked == {name for names in PAGE_PARAMETERS.values() for name in names}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("pages", [True, False], ids=["pages", "api"])
def test_no_query_parameter_breaks_anything(open_api, routes, described, pages):
    for route, rule in routes.items():
        method, _, is_page = route
        if is_page is not pages:
            continue
        if is_page:
            names = PAGE_PARAMETERS.get(rule, [])
        else:
            operation = described.get(rule, {}).get(method.lower(), {})
            names = [given["name"] for given in operation.get("parameters", []) if given["in"] == "query"]
        others = "role=opponent&" if rule.endswith(("/poll", "/wait")) else ""
        for name in (*names, "unknown"):
            values = [*CURSORS, *VALUES] if name == "cursor" else VALUES if name in names else VALUES[:1]
            rest = "" if name == "role" else others
            for value in (*map(encoded, values), *RAW):
                assert_sane(ask(open_api, route, f"{rest}{name}={value}"), route, (name, value[:80]))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["open", "guarded"])
def test_no_header_breaks_anything(open_api, guarded_api, routes, mode):
    """Each address gets every header, with some of the values; all addresses together get all."""
    api = open_api if mode == "open" else guarded_api
    signed = f"Authorization: Bearer {TOKEN}".encode()
    share = 2
    for number, route in enumerate(routes):
        for place_of, name in enumerate(HEADERS):
            first = (number * share + place_of) % len(HEADER_VALUES)
            for value in (HEADER_VALUES * 2)[first : first + share]:
                headers = [name.encode() + b": " + value]
                if mode == "guarded" and name not in ("Authorization", "Cookie"):
                    headers.append(signed)
                assert_sane(ask(api, route, "", *headers), route, (name, value[:80]))


@pytest.mark.parametrize("value", HEADER_VALUES, ids=range(len(HEADER_VALUES)))
def test_no_header_breaks_what_reads_it(open_api, guarded_api, over, value):
    for api in (open_api, guarded_api):
        for name, route in (
            ("Origin", ("POST", "/debates", False)),
            ("Origin", ("POST", "/sign-in", True)),
            ("Origin", ("POST", "/sign-out", True)),
            ("Cookie", ("GET", "/", True)),
            ("Cookie", ("GET", "/debates", False)),
            ("Authorization", ("GET", "/debates", False)),
            ("Last-Event-ID", ("GET", f"/debates/{over}/stream", False)),
            ("Accept", ("GET", "/metrics", False)),
            ("Content-Type", ("POST", "/sign-in", True)),
            ("Range", ("GET", "/assets/look.css", True)),
            ("Host", ("GET", "/", True)),
            ("X-Forwarded-Host", ("GET", "/sign-in", True)),
        ):
            assert_sane(ask(api, route, "", name.encode() + b": " + value), route, (name, value))


@pytest.mark.parametrize("value", HEADER_VALUES, ids=range(len(HEADER_VALUES)))
def test_no_header_breaks_a_websocket(open_api, guarded_api, value):
    for api in (open_api, guarded_api):
        for name in ("Origin", "Host", "Cookie", "Authorization", "Sec-WebSocket-Protocol", "Sec-WebSocket-Key"):
            given = [part for part in HANDSHAKE if not part.startswith(name.encode())]
            sent = head("GET /ws?debate_id=%5B", *given, name.encode() + b": " + value)
            answer = exchange(api, sent, hang_up=True)
            status = status_of(answer)
            assert status is None or status < 500, (name, value, answer[:300])


def test_no_parameter_breaks_a_websocket(open_api):
    for name in ("debate_id", "after_seq", "token", "unknown"):
        for value in (*map(encoded, VALUES), *RAW):
            answer = exchange(open_api, head(f"GET /ws?{name}={value}", *HANDSHAKE))
            status = status_of(answer)
            assert status is None or status < 500, (name, value[:80], answer[:300])
