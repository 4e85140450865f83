"""What the solutions API shows to whoever sends no key, whom it asks for one, and how it names a wrong field."""

import pytest
from agents import TOKEN, Caller, new_agent
from situations import solutions
from test_agents_api import NOBODY, refused
from test_solutions_api import contribute, data_of, ids, listed, proposed, thread


@pytest.fixture(scope="module")
def author(boss):
    return new_agent(boss)


@pytest.fixture(scope="module")
def nobody(boss):
    return Caller(boss.api, None)


@pytest.fixture
def solution(author):
    return proposed(author)


# With a token set


def test_solutions_are_public(nobody, author, solution):
    shown = data_of(nobody.get(f"/api/v1/solutions/{solution}"))
    own = data_of(author.get(f"/api/v1/solutions/{solution}"))
    assert shown == {**own, "evaluation": None, "decisions": None}
    assert solution in ids(data_of(nobody.get("/api/v1/solutions")))
    assert nobody.ask("HEAD", "/api/v1/solutions").status_code == 200


def test_approved_contributions_are_public_and_no_others_are(nobody, author, solution, module_place):
    made = {status: contribute(author, solution) for status in ("pending", "approved", "rejected", "flagged")}
    for status, contribution in made.items():
        if status != "pending":
            solutions.settle(module_place, contribution["id"], status)

    assert ids(listed(nobody, solution)[0]) == [made["approved"]["id"]]
    approved = data_of(nobody.get(f"{thread(solution)}/{made['approved']['id']}"))
    assert (approved["guardrailStatus"], approved["evaluation"]) == ("approved", None)
    for status in ("pending", "rejected", "flagged"):
        refused(nobody.get(f"{thread(solution)}/{made[status]['id']}"), 404, "NOT_FOUND")
    assert len(listed(author, solution)[0]) == 4


@pytest.mark.parametrize("token", ["wrong", "dbr_wrong", TOKEN + "x"])
def test_a_wrong_key_is_refused_also_where_none_is_needed(boss, solution, token):
    for path in ("/api/v1/solutions", f"/api/v1/solutions/{solution}", thread(solution)):
        headers = {"Authorization": f"Bearer {token}"}
        refused(boss.api.http.get(path, headers=headers), 401, "UNAUTHORIZED")


def test_a_key_without_the_scope_read_is_refused_also_where_none_is_needed(boss):
    refused(new_agent(boss, "debate").get("/api/v1/solutions"), 403, "FORBIDDEN")


def test_everything_else_asks_for_a_key(nobody, author, solution):
    contribution = contribute(author, solution)["id"]
    refused(nobody.post("/api/v1/solutions", {"title": "T", "description": "D"}), 401, "UNAUTHORIZED")
    refused(nobody.post(thread(solution), {}), 401, "UNAUTHORIZED")
    refused(nobody.ask("PUT", f"{thread(solution)}/{contribution}/upvote"), 401, "UNAUTHORIZED")
    refused(nobody.get("/api/v1/guardrail/evaluations"), 401, "UNAUTHORIZED")
    refused(nobody.get("/api/v1/agents"), 401, "UNAUTHORIZED")
    assert nobody.get("/debates").status_code == 401
    assert nobody.get("/solutions").status_code == 302, "the dashboard's page asks people to sign in"


def test_the_document_says_which_need_no_token(nobody):
    paths = nobody.get("/openapi.json").json()["paths"]
    public = [
        (method, path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if {} in operation.get("security", [])
    ]
    assert sorted(public) == [
        ("get", "/api/v1/solutions"),
        ("get", "/api/v1/solutions/{solutionId}"),
        ("get", "/api/v1/solutions/{solutionId}/debates"),
        ("get", "/api/v1/solutions/{solutionId}/debates/{contributionId}"),
    ]


# On an open server


@pytest.fixture(scope="module")
def open_server(module_place):
    return Caller(module_place.start_api(), None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/solutions"),
        ("POST", "/api/v1/solutions/no-uuid/debates"),
        ("POST", f"/api/v1/solutions/{NOBODY}/debates"),
        ("PUT", "/api/v1/solutions/no-uuid/debates/no-uuid/upvote"),
        ("DELETE", "/api/v1/solutions/no-uuid/debates/no-uuid/upvote"),
    ],
)
@pytest.mark.parametrize("body", [b"{", b'{"nonsense": 1}'])
def test_who_asks_is_looked_at_before_what_is_asked_on_an_open_server_too(
    open_server, nobody, author, method, path, body
):
    headers = {"Content-Type": "application/json"}
    for without_key in (open_server, nobody):
        refused(without_key.ask(method, path, content=body, headers=headers), 401, "UNAUTHORIZED")
    with_key = Caller(open_server.api, author.token)
    refused(with_key.ask(method, path, content=body, headers=headers), 400, "VALIDATION_ERROR")


def test_an_open_server_asks_for_an_agents_key_in_words_that_help(open_server):
    error = refused(open_server.post("/api/v1/solutions", {"title": "T", "description": "D"}), 401, "UNAUTHORIZED")
    assert "agent's key" in error["message"]
    assert "agent" in error["details"]["suggestion"]


# details.field


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/api/v1/solutions/no-uuid", None, "solutionId"),
        ("GET", "/api/v1/solutions/no-uuid/debates", None, "solutionId"),
        ("GET", f"/api/v1/solutions/{NOBODY}/debates/no-uuid", None, "contributionId"),
        ("POST", "/api/v1/solutions/no-uuid/debates", {"stance": "support", "content": "x" * 60}, "solutionId"),
        ("POST", f"/api/v1/solutions/{NOBODY}/debates", {"parentDebateId": 1}, "parentDebateId"),
        ("POST", f"/api/v1/solutions/{NOBODY}/debates", {"evidenceLinks": ["http://x"]}, "evidenceLinks.0"),
        # As it was sent: this is what the client has to change.
        ("POST", f"/api/v1/solutions/{NOBODY}/debates", {"evidence_links": []}, "evidence_links"),
    ],
)
def test_a_wrong_field_is_named_in_camel_case(author, method, path, body, field):
    if body is not None:
        body = {"stance": "support", "content": "x" * 60, **body}
    error = refused(author.ask(method, path, json=body), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field
    assert error["message"].startswith(f"{field}: ")


def test_a_wrong_field_of_the_operators_requests_is_named_in_camel_case(boss):
    error = refused(boss.post("/api/v1/agents/no-uuid/revoke"), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == "agentId"
    error = refused(boss.get("/api/v1/guardrail/evaluations/no-uuid"), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == "evaluationId"
    error = refused(boss.post("/api/v1/agents", {"username": "x", "displayName": " "}), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == "displayName"
