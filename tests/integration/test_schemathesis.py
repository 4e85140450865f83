"""The served OpenAPI document, taken at its word: requests made from it, and answers compared with it.

Every request goes over HTTP to gunicorn. The examples are the same in every run.
"""

from collections import defaultdict
from itertools import cycle
from typing import Any
from uuid import uuid4

import hypothesis
import pytest
import schemathesis
from harness import Api, Place
from hypothesis import HealthCheck
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from situations import evaluations, exchanges
from test_debate_import import a_line, body_of
from test_experiment_import import HEAD, ROWS
from test_experiments_api import draft, motion_lines
from test_formats_api import SPEECHES
from test_protocol_table import STATES, after, standing_in

# Every operation of the document is one test here.
pytest_plugins = ["schemathesis.pytest.plugin"]
pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ALL_CLEAR = range(200, 300)

bounded = hypothesis.settings(max_examples=12, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
statuses: defaultdict[str, set[int]] = defaultdict(set)
"""What each operation has answered so far."""


@pytest.fixture(scope="module")
def api(module_place: Place) -> Api:
    """A poll that is held is held for a blink."""
    return module_place.start_api(poll_timeout_ms=50)


@pytest.fixture(scope="module")
def served(api: Api) -> Any:
    return schemathesis.openapi.from_url(f"{api.http.base_url}/openapi.json")


@pytest.fixture(scope="module")
def served_for_debates(api: Api) -> Any:
    """Without the systematic variations of each field: they are all tried where there is no debate."""
    schema = schemathesis.openapi.from_url(f"{api.http.base_url}/openapi.json")
    schema.config.phases.coverage.enabled = False
    return schema


@pytest.fixture(autouse=True)
def _a_name_that_schemathesis_knows(request: pytest.FixtureRequest) -> None:
    """schemathesis 4.32 reads this attribute of pytest's, which pytest 9.2 no longer has."""
    request.node._nodeid = request.node.nodeid


ASKING = "ASKING"
"""The judge of an interactive debate asks, which it does in no dialogue."""
ONLY_IN = {"stream": "CLOSED", "judgments": "CLOSED", "fork": "CLOSED", "question": ASKING}
"""Only the stream of a closed debate ends, only a closed debate is judged, and it has the turns to fork after."""


class Debates:
    """A dialogue for each state. One that was changed is replaced by another in the same state."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._states = cycle(STATES)
        self._last_arguments: dict[str, dict[str, Any]] = {}

    def send(self, case: schemathesis.Case) -> None:
        state = ONLY_IN.get(case.operation.path.rpartition("/")[2]) or next(self._states)
        argument = self._last_arguments.pop(state, None) or self._made(state)
        ids = {"debate_id": argument["debate_id"], "argument_id": argument["id"]}
        case.path_parameters = {**case.path_parameters, **{n: i for n, i in ids.items() if n in case.path_parameters}}
        if isinstance(case.body, dict) and "target_id" in case.body:
            case.body["target_id"] = argument["id"]
        if case.query and "argument_id" in case.query:
            case.query["argument_id"] = argument["id"]
        answer = answer_must_be_documented(case)
        if case.method == "GET" or answer.status_code not in ALL_CLEAR:
            self._last_arguments[state] = argument

    def _made(self, state: str) -> dict[str, Any]:
        transcript = self._api.transcript(debate_in(self._api, state))
        return [transcript["motion"], *transcript["arguments"]][-1]


@pytest.fixture(scope="module")
def debates(api: Api) -> Debates:
    return Debates(api)


def debate_in(api: Api, state: str) -> str:
    if state == ASKING:
        debate_id: str = after(api, "interactive", SPEECHES["interactive"], limits={"max_rounds": 2})
        return debate_id
    made: str = standing_in(api, state, "dialogue")
    return made


NOT_JSON = {
    "/experiments/{experiment_id}/motions": motion_lines(2),
    "/experiments/import": HEAD + ROWS,
    "/debates/import": body_of(a_line()).decode(),
}
"""Files, which OpenAPI describes in words: to random bytes these operations only say that they are none."""


class Known:
    """What there is: every other request that names something names one of these, and all that say something about an
    experiment do."""

    def __init__(self, api: Api, place: Place) -> None:
        author, voter = (
            api.http.post("/api/v1/agents", json={"username": name}).json()["data"] for name in ("author", "voter")
        )
        key = {"Authorization": f"Bearer {author['apiKey']}"}
        solution = api.http.post("/api/v1/solutions", json={"title": "T", "description": "D"}, headers=key).json()
        thread = f"/api/v1/solutions/{solution['data']['id']}/debates"
        body = {"stance": "support", "content": "Because the streets belong to everybody who walks in them, too."}
        contribution = api.http.post(thread, json=body, headers=key).json()["data"]
        # There is no worker here: a verdict as one would leave it.
        evaluations.flag_all(place)
        self._ids = {
            "agentId": author["agentId"],
            "solutionId": contribution["solutionId"],
            "contributionId": contribution["id"],
            "evaluationId": contribution["guardrailEvaluationId"],
        }
        self._key = voter["apiKey"]
        self._api = api
        set_name = "known"
        added = api.http.post("/prompts", json={"name": set_name, "files": {"manners": "Write in $language."}})
        assert added.status_code == 201, added.text
        added = api.http.post("/formats", json={"name": set_name, "closing": [{"steps": [{"seat": "proposer"}]}]})
        assert added.status_code == 201, added.text
        self._ids |= {"name": set_name, **self._answered_by_a_model(place)}
        self._turns: defaultdict[str, cycle[bool]] = defaultdict(lambda: cycle([True, False]))

    def _answered_by_a_model(self, place: Place) -> dict[str, str]:
        """An argument and a judgment, with the exchanges that a worker would leave."""
        transcript = self._api.transcript(standing_in(self._api, "AWAITING_PROPOSER", "dialogue"))
        argument = transcript["arguments"][-1]
        exchanges.add_of_turn(place, argument["id"])
        judgment_id = exchanges.add_of_judgment(place, argument["debate_id"])
        return {"argument_id": argument["id"], "judgment_id": judgment_id, "debate_id": argument["debate_id"]}

    def _made_for(self, case: schemathesis.Case) -> dict[str, str]:
        """Experiments and webhooks are changed and deleted: every request has its own."""
        if "experiment_id" in case.path_parameters:
            experiment_id = draft(self._api)["id"]
            self._api.http.post(f"/experiments/{experiment_id}/motions", content=motion_lines(1))
            return {"experiment_id": experiment_id}
        if "webhook_id" in case.path_parameters:
            body = {"url": "https://example.org/hooks", "events": ["debate.completed"]}
            webhook_id = self._api.http.post("/webhooks", json=body).json()["data"]["webhook"]["id"]
            delivery = self._api.http.post(f"/webhooks/{webhook_id}/test").json()["data"]["delivery"]
            return {"webhook_id": webhook_id, "delivery_id": delivery["id"]}
        return {}

    def put_in(self, case: schemathesis.Case) -> bool:
        """Whether it did."""
        path = case.operation.path
        if path.startswith("/api/v1/solutions"):
            case.headers["Authorization"] = f"Bearer {self._key}"
        if case.meta and case.meta.generation.mode.is_negative:
            # What was made to be wrong stays wrong.
            return False
        says_something = isinstance(case.body, dict) and path.startswith("/experiments/")
        if not says_something and not next(self._turns[case.operation.label]):
            return False
        if path == "/experiments/import":
            case.query = {"name": f"imported-{uuid4()}"}
        if case.path_parameters:
            ids = self._made_for(case) or self._ids
            wanted = {name: ids[name] for name in ids.keys() & case.path_parameters.keys()}
            # What is known of debates is one turn and one judgment of a model; their states are tried below.
            if "debate_id" not in wanted or {"argument_id", "judgment_id"} & wanted.keys():
                case.path_parameters = {**case.path_parameters, **wanted}
        return True


@pytest.fixture(scope="module")
def known(api: Api, module_place: Place) -> Known:
    return Known(api, module_place)


document = schemathesis.pytest.from_fixture("served")
document_of_debates = schemathesis.pytest.from_fixture("served_for_debates")


def is_stream(case: schemathesis.Case) -> bool:
    return case.operation.path.endswith("/stream")


def answer_must_be_documented(case: schemathesis.Case, content: str | None = None) -> Any:
    if "dbr_" not in case.headers.get("Authorization", ""):
        # Made up, it would only ever be refused.
        case.headers.pop("Authorization", None)
    answer = case.call() if content is None else case.call(data=content.encode())
    statuses[case.operation.label].add(answer.status_code)
    # OpenAPI 3.1 has no words for the events of a stream: to it, the whole stream is one text.
    case.validate_response(answer, checks=CHECKS[:-1] if is_stream(case) else CHECKS)
    return answer


@document.parametrize()
@bounded
def test_whatever_is_sent_the_answer_is_one_of_the_document(case: schemathesis.Case, known: Known) -> None:
    is_known = known.put_in(case)
    answer_must_be_documented(case, NOT_JSON.get(case.operation.path) if is_known else None)


@document_of_debates.include(path_regex="debate_id").parametrize()
@bounded
def test_whatever_is_sent_to_a_debate_in_any_state_the_answer_is_one_of_the_document(
    case: schemathesis.Case, debates: Debates
) -> None:
    debates.send(case)


ASK_NOTHING = {
    *("GET /health", "GET /ready", "GET /system/status", "GET /metrics"),
    *("GET /models", "GET /formats", "GET /prompts", "GET /webhooks"),
}
"""A request without parameters cannot be wrong."""


def test_the_examples_reached_every_operation(served: Any) -> None:
    """Those above would also pass if all that they ever saw were refusals."""
    operations = {operation.ok().label for operation in served.get_all_operations()}
    if statuses.keys() != operations:
        pytest.skip("the tests before this one did not all run here")
    # A WebSocket is not to be had with the plain HTTP that is sent here.
    assert statuses.pop("GET /ws") == {400, 405}
    assert {operation: seen for operation, seen in statuses.items() if not seen & set(ALL_CLEAR)} == {}
    never_wrong = {operation for operation, seen in statuses.items() if 400 not in seen}
    assert never_wrong - ASK_NOTHING == set()


# What the document itself must say


@pytest.fixture(scope="module")
def written(api: Api) -> dict[str, Any]:
    return api.http.get("/openapi.json").json()


OPEN = {"/health", "/ready"}
BODIES = {
    "/debates": "CreateDebateBody",
    "/debates/{debate_id}/arguments": "ArgumentBody",
    "/debates/{debate_id}/appeal": "SubmissionBody",
    "/debates/{debate_id}/resolution": "SubmissionBody",
    "/debates/{debate_id}/ruling": "RulingBody",
    "/debates/{debate_id}/intervention": "InterventionBody",
    "/debates/{debate_id}/stop": "StopBody",
    "/debates/{debate_id}/pause": "PauseBody",
    "/debates/{debate_id}/question": "QuestionBody",
    "/debates/{debate_id}/fork": "ForkBody",
    "/debates/{debate_id}/invitations": "InvitationBody",
    "/debates/{debate_id}/judgments": "JudgmentBody",
    "/formats": "FormatBody",
    "/prompts": "PromptSetBody",
    "/webhooks": "WebhookBody",
    "/experiments": "SpecBody",
    "/experiments/plan": "PlanBody",
    "/experiments/{experiment_id}/judges": "JudgesBody",
    "/experiments/{experiment_id}/invitations": "JudgeInvitationBody",
    "/mcp": "McpBody",
    "/api/v1/agents": "AgentBody",
    "/api/v1/solutions": "SolutionBody",
    "/api/v1/solutions/{solutionId}/debates": "ContributionBody",
    "/api/v1/guardrail/evaluations/{evaluationId}/decision": "DecisionBody",
    "/api/v1/guardrail/solutions/{solutionId}/decision": "DecisionBody",
}
MAY_BE_LEFT_OUT = {f"/debates/{{debate_id}}/{action}" for action in ("intervention", "stop", "pause")}


def test_it_is_valid_openapi_3_1(served: Any, written: dict[str, Any]) -> None:
    assert written["openapi"].startswith("3.1.")
    served.validate()


def test_it_describes_both_answers_of_a_poll_and_that_they_exclude_each_other(written: dict[str, Any]) -> None:
    answer = written["paths"]["/debates/{debate_id}/poll"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/PollAnswer")
    data = written["components"]["schemas"]["PollAnswer"]["properties"]["data"]
    assert [choice["$ref"].rpartition("/")[2] for choice in data["oneOf"]] == ["PollNew", "PollNothing"]
    assert "anyOf" not in data
    shapes = written["components"]["schemas"]
    assert set(shapes["PollNew"]["required"]) == {"has_new_argument", "action", "debate_state", "argument"}
    assert set(shapes["PollNothing"]["required"]) == {"has_new_argument", "debate_id", "last_seen_seq"}


def test_it_says_which_operations_want_the_token(written: dict[str, Any]) -> None:
    [(name, scheme)] = written["components"]["securitySchemes"].items()
    assert scheme == {"type": "http", "scheme": "bearer"}
    for path, operations in written["paths"].items():
        for method, operation in operations.items():
            # Solutions and approved contributions are public.
            without = [{}] if method == "get" and path.startswith("/api/v1/solutions") else []
            assert operation.get("security") == (None if path in OPEN else [*without, {name: []}]), path


def test_it_says_which_bodies_there_are_and_which_may_be_left_out(written: dict[str, Any]) -> None:
    found = {
        path: operations["post"]["requestBody"]
        for path, operations in written["paths"].items()
        if "requestBody" in operations.get("post", {}) and path not in NOT_JSON
    }
    schemas = {path: body["content"]["application/json"]["schema"]["$ref"] for path, body in found.items()}
    assert {path: reference.rpartition("/")[2] for path, reference in schemas.items()} == BODIES
    assert {path for path, body in found.items() if not body["required"]} == MAY_BE_LEFT_OUT


MUST_BE_NEW = {
    "/debates": "client_request_id",
    "/debates/{debate_id}/fork": "client_request_id",
    "/experiments": "name",
}


@pytest.mark.parametrize("path", [path for path in BODIES if not path.startswith("/api/v1")])
def test_every_body_has_examples_and_the_server_takes_them(api: Api, written: dict[str, Any], path: str) -> None:
    examples = written["components"]["schemas"][BODIES[path]]["examples"]
    assert examples
    for example in examples:
        state = "AWAITING_ARBITRATOR" if path.endswith("/ruling") else "AWAITING_PROPOSER"
        state = "AWAITING_OPPONENT" if example.get("role") == "opponent" else state
        debate_id = debate_in(api, ONLY_IN.get(path.rpartition("/")[2], state))
        body = (
            {**example, "target_id": api.transcript(debate_id)["motion"]["id"]} if "target_id" in example else example
        )
        # The fuzzer has sent the example's id, or name, with other words.
        if path in MUST_BE_NEW:
            body = {**body, MUST_BE_NEW[path]: f"example-{uuid4()}"}
        if "spec" in body:
            body = {**body, "spec": {**body["spec"], "name": f"example-{uuid4()}"}}
        url = path.replace("{debate_id}", debate_id)
        if "{experiment_id}" in url:
            url = url.replace("{experiment_id}", draft(api)["id"])
        answer = api.http.post(url, json=body)
        assert answer.status_code in ALL_CLEAR, answer.text
