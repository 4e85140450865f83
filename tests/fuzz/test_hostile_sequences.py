"""Requests made from the OpenAPI document, each about what earlier ones made: lives nobody thought of."""

from collections import Counter
from copy import deepcopy
from typing import Any

import hypothesis
import pytest
import schemathesis
from hostile import Stage
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error, response_schema_conformance, status_code_conformance

pytest_plugins = ["schemathesis.pytest.plugin"]
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
bounded = hypothesis.settings(
    max_examples=30,
    stateful_step_count=8,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MAKES = ["/debates/{debate_id}/arguments", "/debates/{debate_id}/appeal", "/debates/{debate_id}/ruling"]
"""What answers with a debate and an argument of it."""
ENDLESS = "/debates/{debate_id}/stream"
DEBATE = {"debate_id": "$response.body#/data/debate/id"}
LISTED = {"debate_id": "$response.body#/data/debates/0/id"}
ANSWERS = {"target_id": "$response.body#/data/argument/id"}


def linked(document: dict[str, Any]) -> dict[str, Any]:
    """The debates' part of it, and what a debate that was made can be used for. Streams of open debates do not end."""
    paths = {path: item for path, item in document["paths"].items() if path.startswith("/debates") and path != ENDLESS}
    # Creation is tried in test_schemathesis.py: what schemathesis makes up is hardly ever a debate.
    paths["/debates"] = {"get": paths["/debates"]["get"]}
    links = {}
    for path, item in paths.items():
        for operation in item.values() if "{debate_id}" in path else ():
            body = {"requestBody": ANSWERS} if path.endswith(("arguments", "appeal", "resolution")) else {}
            links[operation["operationId"]] = {"operationId": operation["operationId"], "parameters": DEBATE, **body}
    listed = {name: {**link, "parameters": LISTED} for name, link in links.items() if "requestBody" not in link}
    paths["/debates"]["get"]["responses"]["200"]["links"] = listed
    for path in MAKES:
        paths[path]["post"]["responses"]["201"]["links"] = deepcopy(links)
    return {**document, "paths": paths}


def test_whatever_the_order_of_the_requests_the_answers_are_those_of_the_document(stage: Stage) -> None:
    api, _ = stage
    document = schemathesis.openapi.from_dict(linked(api.http.get("/openapi.json").json()))
    document.config.update(base_url=str(api.http.base_url))
    for _ in range(10):
        # It begins with the list: there should be something in it.
        api.create(format="dialogue")
    seen: Counter[tuple[str, int]] = Counter()

    class Sequences(document.as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: schemathesis.Case) -> None:
            # Made up, it would only ever be refused.
            case.headers.pop("Authorization", None)

        def validate_response(self, response: Any, case: schemathesis.Case, **_: Any) -> None:
            seen[case.operation.label, response.status_code] += 1
            case.validate_response(
                response, checks=[not_a_server_error, status_code_conformance, response_schema_conformance]
            )

    Sequences.run(settings=bounded)
    # It would also pass if no request ever named what an earlier one had made.
    done = {label for (label, status) in seen if status < 300 and "{debate_id}" in label}
    assert len(done) >= 3, seen
