"""With a token set, everything but what a load balancer reads wants it."""

import pytest
from agents import TOKEN
from harness import new_debate
from test_api_envelope import NO_SUCH_DEBATE, data_of, nothing_written, refusal_of
from test_api_errors import EVERY_ENDPOINT
from watchers import heard, watching

WRONG = [
    None,
    "",
    TOKEN,
    "Bearer",
    "Bearer wrong",
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN.upper()}",
    f"Bearer {TOKEN} {TOKEN}",
    f"Basic {TOKEN}",
    f"Token {TOKEN}",
    "Bearer é",
]


def sent(authorization):
    return {} if authorization is None else {"Authorization": authorization.encode()}


@pytest.mark.parametrize("authorization", WRONG)
def test_without_the_token_nothing_is_answered_and_nothing_is_written(guarded, module_place, authorization):
    with nothing_written(module_place):
        answer = guarded.http.post("/debates", json=new_debate(), headers=sent(authorization))
    refusal_of(answer, "AUTH_FAILED")


def test_the_answer_does_not_tell_how_wrong_a_token_is(guarded):
    answers = {guarded.http.get("/debates", headers=sent(authorization)).text for authorization in WRONG}
    assert len(answers) == 1
    assert TOKEN not in answers.pop()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/debates"),
        ("POST", "/debates"),
        *[(method, f"/debates/{NO_SUCH_DEBATE}{path}") for method, path in EVERY_ENDPOINT],
        ("GET", "/debates/not-a-uuid"),
        ("GET", "/nothing/here"),
        ("PUT", "/health/"),
        ("GET", "/health/../debates"),
    ],
)
def test_every_address_wants_the_token_and_none_tells_whether_it_exists(guarded, method, path):
    refusal_of(guarded.http.request(method, path), "AUTH_FAILED")


def test_a_broken_body_is_not_looked_at_before_the_token(guarded):
    answer = guarded.http.post("/debates", content=b"{", headers={"Content-Type": "application/json"})
    refusal_of(answer, "AUTH_FAILED")


@pytest.mark.parametrize("authorization", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN}"])
def test_with_the_token_everything_is_answered(guarded, authorization):
    headers = sent(authorization)
    created = data_of(guarded.http.post("/debates", json=new_debate(), headers=headers), 201)
    debate_id = created["debate"]["id"]

    data_of(guarded.http.get("/debates", headers=headers))
    data_of(guarded.http.post(f"/debates/{debate_id}/stop", headers=headers))
    data_of(guarded.http.delete(f"/debates/{debate_id}", headers=headers))


@pytest.mark.parametrize("path", ["/health", "/ready", "/openapi.json"])
@pytest.mark.parametrize("authorization", [None, "Bearer wrong"])
def test_what_a_load_balancer_reads_is_open(guarded, path, authorization):
    assert guarded.http.get(path, headers=sent(authorization)).status_code == 200


@pytest.mark.parametrize("authorization", [None, "", "Basic a-proxy-wants-this"])
def test_without_a_token_set_nothing_needs_to_be_sent(api, authorization):
    assert api.http.get("/debates", headers=sent(authorization)).status_code == 200


@pytest.mark.parametrize("authorization", ["Bearer", "Bearer anything", "Bearer sk-of-another-service"])
def test_without_a_token_set_a_token_that_is_no_agents_key_is_not_looked_at(api, authorization):
    """A client that always sends one, left over from another server, is served as one that sends none."""
    assert api.http.get("/debates", headers=sent(authorization)).status_code == 200
    created = data_of(api.http.post("/debates", json=new_debate(), headers=sent(authorization)), 201)
    assert created["argument"]["agent"] is None
    with watching(api, created["debate"]["id"], token=authorization.partition(" ")[2]) as socket:
        assert heard(socket)[0] == "initial_state"


def test_without_a_token_set_an_unknown_agents_key_is_refused_with_the_cure(api):
    error = refusal_of(api.http.get("/debates", headers=sent("Bearer dbr_nobody-has-this-key")), "AUTH_FAILED", "key")
    assert "no key at all" in error["suggestion"]
