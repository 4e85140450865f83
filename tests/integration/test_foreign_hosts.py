"""DNS rebinding: a page under a name of its own that leads to 127.0.0.1 is, to the browser, of the same origin as a
server without a token. Such a server answers under its own names only, on every way in."""

import pytest
from agents import TOKEN
from harness import Api, new_debate
from test_api_envelope import data_of, nothing_written, refusal_of
from watchers import ws_url
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

OWN_NAME = "debates.example"
FOREIGN = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "localhost.evil.example:{port}",
    "notlocalhost",
    "192.168.1.7:{port}",
    "0.0.0.0:{port}",
    "[::2]:{port}",
    "[::1",
    "::1",
    "127.0.0.1:{port},evil.example",
    "evil.example:127.0.0.1",
    "localhost:\u0663",
    "",
    "-",
]
OURS = [
    "localhost",
    "LOCALHOST:{port}",
    "localhost.",
    "debate.localhost:80",
    "127.0.0.1:{port}",
    "127.8.9.10",
    "[::1]:{port}",
    "[0:0:0:0:0:0:0:1]",
]


@pytest.fixture(scope="module")
def named(module_place) -> Api:
    return module_place.start_api(server_url=f"https://{OWN_NAME.upper()}:8443/path")


def as_page_of(api: Api, host: str) -> dict[str, str | bytes]:
    """What a browser sends for a page under this name: of the same origin by all that it knows."""
    host = host.format(port=api.http.base_url.port)
    return {"Host": host.encode(), "Origin": f"http://{host}".encode(), "Sec-Fetch-Site": "same-origin"}


@pytest.mark.parametrize("host", FOREIGN)
def test_a_page_under_another_name_neither_reads_nor_writes(api, module_place, host):
    debate_id = api.create()["id"]
    headers = as_page_of(api, host)
    with nothing_written(module_place):
        error = refusal_of(api.http.get(f"/debates/{debate_id}", headers=headers), "FORBIDDEN", "Host")
        assert "DEBATE_AUTH_TOKEN" in error["suggestion"]
        refusal_of(api.http.post("/debates", json=new_debate(), headers=headers), "FORBIDDEN")
        refusal_of(api.http.post(f"/debates/{debate_id}/stop", headers=headers), "FORBIDDEN")
        refusal_of(api.http.delete(f"/debates/{debate_id}", headers=headers), "FORBIDDEN")


@pytest.mark.parametrize(
    "path",
    [
        "/", "/new", "/system", "/sign-in", "/assets/look.css", "/debates/{id}/view", "/debates", "/nothing",
        "/debates/{id}/stream", "/debates/{id}/wait?role=opponent", "/debates/{id}/export", "/metrics", "/docs",
        "/openapi.json", "/health", "/ready", "/system/status", "/api/v1/solutions",
    ],
)  # fmt: skip
def test_no_address_is_answered_under_another_name(api, path):
    answer = api.http.get(path.format(id=api.create()["id"]), headers=as_page_of(api, "evil.example:{port}"))
    assert answer.status_code == 403, answer.text
    assert answer.headers["X-Request-ID"]
    assert "DEBATE_AUTH_TOKEN" in answer.text or answer.headers["Content-Type"].startswith("text/html")


def test_the_solutions_api_refuses_in_its_own_envelope(api):
    answer = api.http.post("/api/v1/agents", json={"username": "mallory"}, headers=as_page_of(api, "evil.example"))
    assert answer.status_code == 403
    assert (answer.json()["ok"], answer.json()["error"]["code"]) == (False, "FORBIDDEN")


def test_no_websocket_is_opened_under_another_name(api):
    port = api.http.base_url.port
    headers = {"Origin": f"http://evil.example:{port}"}
    with pytest.raises(InvalidStatus) as refused:
        # The library takes Host from the address, and connects to where it is told.
        connect(f"ws://evil.example:{port}/ws", address=("127.0.0.1", port), proxy=None, additional_headers=headers)
    assert refused.value.response.status_code == 403
    with connect(ws_url(api), proxy=None):
        """Under its own name it is."""


@pytest.mark.parametrize("host", OURS)
def test_loopback_names_are_answered_whatever_port_they_name(api, host):
    headers = {"Host": host.format(port=api.http.base_url.port)}
    data_of(api.http.get("/debates", headers=headers))
    assert api.http.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize("host", [OWN_NAME, f"{OWN_NAME}:3456", OWN_NAME.title()])
def test_the_name_in_the_servers_own_url_is_answered(named, host):
    data_of(named.http.get("/debates", headers={"Host": host}))
    refusal_of(named.http.get("/debates", headers={"Host": f"not.{OWN_NAME}"}), "FORBIDDEN")


def test_what_a_page_says_about_a_proxy_changes_nothing(module_place):
    proxied = module_place.start_api(trusted_proxies=1)
    page = {"Host": "evil.example", "X-Forwarded-Host": "localhost"}
    refusal_of(proxied.http.get("/debates", headers=page), "FORBIDDEN")
    refusal_of(proxied.http.get("/debates", headers={"X-Forwarded-Host": "evil.example"}), "FORBIDDEN")
    data_of(proxied.http.get("/debates", headers={"X-Forwarded-Host": "localhost"}))


def test_a_server_with_a_token_is_reached_under_any_name(guarded):
    headers = {"Host": "debates.example", "Authorization": f"Bearer {TOKEN}"}
    data_of(guarded.http.get("/debates", headers=headers))
    refusal_of(guarded.http.get("/debates", headers={"Host": "debates.example"}), "AUTH_FAILED")
