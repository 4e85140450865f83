"""An operator who signed in to the dashboard, on every way in: what the cookie opens, what it does not, and how its
requests are counted."""

import pytest
from agents import TOKEN, new_agent, operator
from harness import new_debate
from situations import sessions
from test_api_envelope import data_of, refusal_of
from watchers import closing, heard, watching
from websockets.exceptions import ConnectionClosed

from app.http.websocket import WRONG_ORIGIN
from app.realtime.websocket import WRONG_TOKEN

READS, WRITES, SOCKETS = 30, 20, 6
OURS = {"Sec-Fetch-Site": "same-origin"}
ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://example.org"}


@pytest.fixture(scope="module")
def guarded(module_place):
    limits = f"reads={READS},writes={WRITES},sockets={SOCKETS}"
    return module_place.start_api(auth_token=TOKEN, rate_limit=limits)


def signed_in(api):
    """The header of a browser that has signed in."""
    answer = api.http.post("/sign-in", data={"token": TOKEN}, headers=OURS)
    assert answer.status_code == 303, answer.text
    api.http.cookies.clear()
    return {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}


@pytest.fixture(scope="module")
def session(guarded):
    return signed_in(guarded)


def closing_of(api, **options):
    with watching(api, options=options) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
        return closed.value.rcvd.code


def test_the_session_reads_and_writes_as_the_operator_in_both_apis(guarded, session):
    ours = {**session, **OURS}
    debate = data_of(guarded.http.post("/debates", json=new_debate(), headers=ours), 201)["debate"]
    data_of(guarded.http.get(f"/debates/{debate['id']}", headers=session))
    data_of(guarded.http.post(f"/debates/{debate['id']}/stop", headers=ours))
    made = guarded.http.post("/api/v1/agents", json={"username": "made-by-a-session"}, headers=ours)
    assert made.status_code == 201, made.text
    assert guarded.http.get("/api/v1/guardrail/evaluations", headers=session).status_code == 200


def test_the_session_opens_a_websocket_from_our_own_pages_only(guarded, session):
    own = str(guarded.http.base_url).rstrip("/")
    with watching(guarded, options={"additional_headers": session, "origin": own}) as socket:
        created = guarded.http.post("/debates", json=new_debate(), headers={**session, **OURS})
        debate_id = data_of(created, 201)["debate"]["id"]
        while debate_id not in str(heard(socket)):
            """Of debates that other tests have made."""
    assert closing_of(guarded, additional_headers=session, origin="https://example.org") == WRONG_ORIGIN
    assert closing_of(guarded, origin=own) == WRONG_TOKEN


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/debates"), ("DELETE", "/debates/{id}"), ("POST", "/debates/{id}/stop"), ("POST", "/api/v1/agents")],
)
def test_another_sites_page_changes_nothing_with_the_cookie(guarded, session, module_place, method, path):
    ours = {**session, **OURS}
    debate_id = data_of(guarded.http.post("/debates", json=new_debate(), headers=ours), 201)["debate"]["id"]
    before = module_place.sql("SELECT count(*) FROM debates UNION ALL SELECT count(*) FROM agents")
    body = new_debate() if path == "/debates" else {"username": "mallory"} if path == "/api/v1/agents" else None
    answer = guarded.http.request(method, path.format(id=debate_id), json=body, headers={**session, **ELSEWHERE})
    assert answer.status_code == 401
    assert module_place.sql("SELECT count(*) FROM debates UNION ALL SELECT count(*) FROM agents") == before
    assert data_of(guarded.http.get(f"/debates/{debate_id}", headers=session))["debate"]["status"] == "created"


@pytest.mark.parametrize("sent", ["Bearer wrong", "Bearer dbr_wrong", "Bearer", "Basic abc"])
def test_a_wrong_token_is_refused_whatever_cookie_is_beside_it(guarded, session, sent):
    headers = {**session, **OURS, "Authorization": sent}
    refusal_of(guarded.http.get("/debates", headers=headers), "AUTH_FAILED")
    refusal_of(guarded.http.post("/debates", json=new_debate(), headers=headers), "AUTH_FAILED")
    assert closing_of(guarded, additional_headers={**session, "Authorization": sent}) == WRONG_TOKEN


def test_a_key_beside_the_cookie_acts_with_its_own_rights_only(guarded, session):
    agent = new_agent(operator(guarded), "read")
    headers = {**session, **OURS, "Authorization": f"Bearer {agent.token}"}
    data_of(guarded.http.get("/debates", headers=headers))
    refusal_of(guarded.http.post("/debates", json=new_debate(), headers=headers), "FORBIDDEN")


# How it is counted


def test_a_session_is_counted_by_itself_over_pages_and_api_and_its_files_are_not(guarded):
    mine = signed_in(guarded)
    asked = [("/", {}), ("/debates", {"Accept": "application/json"})] * (READS // 2)
    answers = [guarded.http.get(path, headers={**mine, **headers}).status_code for path, headers in asked]
    assert answers == [200] * READS
    page = guarded.http.get("/", headers=mine)
    assert page.status_code == 429
    assert "text/html" in page.headers["Content-Type"]
    assert "Too many requests" in page.text
    assert 1 <= int(page.headers["Retry-After"]) <= 60
    refusal_of(guarded.http.get("/debates", headers=mine), "RATE_LIMIT_EXCEEDED")
    for path in ("/assets/look.css", "/assets/shell.js", "/ready"):
        assert guarded.http.get(path, headers=mine).status_code in (200, 503), "what every page loads is not counted"
    # Neither whoever has the token, nor another browser, nor somebody at the same address waits for it.
    assert operator(guarded).get("/debates").status_code == 200
    assert guarded.http.get("/", headers=signed_in(guarded)).status_code == 200
    assert guarded.http.get("/sign-in").status_code == 200


# Signing out


def sign_out(api, session):
    answer = api.http.post("/sign-out", headers={**session, **OURS})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")


@pytest.fixture(scope="module")
def unlimited(module_place):
    """Two processes of one server, as far as a cookie can tell."""
    return [module_place.start_api(auth_token=TOKEN, rate_limit="off") for _ in range(2)]


def test_a_cookie_opens_nothing_after_it_was_signed_out_at_any_api(unlimited, module_place):
    here, there = unlimited
    mine, other = signed_in(here), signed_in(here)
    assert mine != other, "each signing in is a session of its own"
    sign_out(here, mine)
    for api in unlimited:
        assert api.http.get("/", headers=mine).status_code == 302
        refusal_of(api.http.get("/debates", headers=mine), "AUTH_FAILED")
        refusal_of(api.http.post("/debates", json=new_debate(), headers={**mine, **OURS}), "AUTH_FAILED")
        assert api.http.get("/", headers=other).status_code == 200, "the other browser stays signed in"
    assert closing_of(there, additional_headers=mine) == WRONG_TOKEN
    sign_out(there, mine)
    assert all(str(row[0]) not in mine["Cookie"] for row in module_place.sql("SELECT hash FROM sessions"))


def test_what_a_session_has_open_is_ended_when_it_is_signed_out(unlimited):
    here, there = unlimited
    mine = signed_in(here)
    own = str(there.http.base_url).rstrip("/")
    with watching(there, options={"additional_headers": mine, "origin": own}) as socket:
        sign_out(here, mine)
        assert closing(socket, 30) == WRONG_TOKEN


def test_a_session_lasts_no_longer_than_the_database_says_and_is_then_forgotten(unlimited, module_place):
    here, _ = unlimited
    mine = signed_in(here)
    sessions.expire_all(module_place)
    refusal_of(here.http.get("/debates", headers=mine), "AUTH_FAILED")
    signed_in(here)
    assert module_place.sql("SELECT count(*) FROM sessions") == [(1,)]


def test_a_page_of_another_site_signs_nobody_out(unlimited):
    here, _ = unlimited
    mine = signed_in(here)
    assert here.http.post("/sign-out", headers={**mine, **ELSEWHERE}).status_code == 303
    assert here.http.get("/", headers=mine).status_code == 200
