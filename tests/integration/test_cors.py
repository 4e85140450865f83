"""Pages of other origins: those of DEBATE_ALLOWED_ORIGINS may use the REST API, by a token and never by a cookie."""

import pytest
from agents import TOKEN, operator
from harness import new_debate
from test_api_envelope import data_of, refusal_of
from test_session_access import signed_in
from watchers import closing, heard, watching

from app.cli.stack import free_port
from app.realtime.websocket import WRONG_TOKEN

PAGE = "https://pages.example"
OTHER = "https://other.example"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def api(module_place):
    return module_place.start_api(auth_token=TOKEN, allowed_origins=(PAGE, "http://localhost:5173"), rate_limit="off")


@pytest.fixture(scope="module")
def open_server(module_place):
    return module_place.start_api(allowed_origins=(PAGE,))


def of(origin):
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site"}


def preflight(api, origin, path="/debates", method="POST"):
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization,content-type"}
    return api.http.options(path, headers={**of(origin), **asked})


def cors_headers(answer):
    return {name for name in answer.headers if name.startswith("access-control-")}


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:5173"])
def test_a_page_of_an_allowed_origin_reads_and_writes_with_a_token(api, origin):
    made = api.http.post("/debates", json=new_debate(), headers={**of(origin), **BEARER})
    data_of(made, 201)
    read = api.http.get("/debates", headers={**of(origin), **BEARER})
    data_of(read)
    for answer in (made, read):
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Origin" in answer.headers["Vary"]
        assert "Idempotent-Replayed" in answer.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/debates", "POST"),
        ("/debates/0b0e8a7e-0000-4000-8000-000000000001", "DELETE"),
        ("/api/v1/solutions", "POST"),
        ("/nowhere", "PUT"),
    ],
)
def test_a_preflight_is_answered_without_a_token(api, path, method):
    answer = preflight(api, PAGE, path, method)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert method in answer.headers["Access-Control-Allow-Methods"].split(", ")
    allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "x-request-id"} <= set(allowed)
    assert int(answer.headers["Access-Control-Max-Age"]) > 0
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert answer.headers["X-Request-ID"]


def test_a_page_can_read_refusals_too(api):
    headers = of(PAGE)
    answers = [
        api.http.get("/debates", headers=headers),
        api.http.post("/debates", content=b"{", headers={**headers, **BEARER, "Content-Type": "application/json"}),
        api.http.get("/nowhere", headers={**headers, **BEARER}),
        api.http.patch("/debates", headers={**headers, **BEARER}),
        api.http.get("/api/v1/agents", headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [401, 400, 404, 405, 401]
    assert {answer.headers["Access-Control-Allow-Origin"] for answer in answers} == {PAGE}


@pytest.mark.parametrize("origin", [OTHER, "null", f"{PAGE}.evil.example", "http://pages.example", "http://["])
def test_a_page_of_any_other_origin_is_allowed_nothing(api, origin):
    assert cors_headers(preflight(api, origin)) == set()
    answer = api.http.get("/debates", headers={**of(origin), **BEARER})
    assert cors_headers(answer) == set()
    assert "Origin" in answer.headers["Vary"], "or a cache would give it to a page that is allowed to read it"


def test_nothing_is_said_about_origins_where_none_is_allowed(guarded):
    assert cors_headers(preflight(guarded, PAGE)) == set()
    answer = guarded.http.get("/debates", headers={**of(PAGE), **BEARER})
    assert cors_headers(answer) == set()
    assert "Vary" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site", None])
def test_a_cookie_does_nothing_for_a_page_of_another_origin(api, site):
    session = signed_in(api)
    headers = {**session, "Origin": PAGE, **({"Sec-Fetch-Site": site} if site else {})}
    refusal_of(api.http.get("/debates", headers=headers), "AUTH_FAILED")
    refusal_of(api.http.post("/debates", json=new_debate(), headers=headers), "AUTH_FAILED")
    data_of(api.http.get("/debates", headers=session))


def test_the_servers_own_pages_keep_their_cookie_where_their_origin_is_in_the_list(api):
    """Behind a proxy that gives the server another name, the name that browsers know may be listed."""
    headers = {**signed_in(api), "Origin": PAGE, "Sec-Fetch-Site": "same-origin"}
    data_of(api.http.post("/debates", json=new_debate(), headers=headers), 201)


def test_an_origin_in_the_list_that_is_the_servers_own_keeps_its_cookie(module_place):
    """Also over a WebSocket, with which not every browser says where it comes from."""
    port = free_port("127.0.0.1")
    own = f"http://127.0.0.1:{port}"
    api = module_place.start_api(port, auth_token=TOKEN, allowed_origins=(own,), rate_limit="off")
    session = signed_in(api)
    data_of(api.http.post("/debates", json=new_debate(), headers={**session, "Origin": own}), 201)
    with watching(api, options={"additional_headers": session, "origin": own}) as socket:
        data_of(api.http.post("/debates", json=new_debate(), headers={**session, "Origin": own}), 201)
        assert heard(socket)[0] == "debate_changed"


def test_a_websocket_of_a_listed_origin_is_opened_by_a_token_and_not_by_a_cookie(api):
    with watching(api, options={"additional_headers": signed_in(api), "origin": PAGE}) as socket:
        assert closing(socket) == WRONG_TOKEN
    debate_id = data_of(api.http.post("/debates", json=new_debate(), headers=BEARER), 201)["debate"]["id"]
    with watching(api, debate_id, token=TOKEN, options={"origin": PAGE}) as socket:
        assert heard(socket)[0] == "initial_state"


def test_the_dashboards_pages_are_for_nobody_elses_pages(api):
    for path in ("/", "/sign-in", "/assets/look.css"):
        assert cors_headers(api.http.get(path, headers=of(PAGE))) == set()
        assert cors_headers(preflight(api, PAGE, path, "GET")) == set()


def test_on_an_open_server_an_allowed_origin_may_write_and_no_other(open_server):
    answer = open_server.http.post("/debates", json=new_debate(), headers=of(PAGE))
    data_of(answer, 201)
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    refusal_of(open_server.http.post("/debates", json=new_debate(), headers=of(OTHER)), "FORBIDDEN")


def test_an_agents_key_works_from_an_allowed_page(api):
    made = operator(api).post("/api/v1/agents", {"username": "from-a-page"}).json()["data"]
    headers = {**of(PAGE), "Authorization": f"Bearer {made['apiKey']}"}
    data_of(api.http.post("/debates", json=new_debate(), headers=headers), 201)
