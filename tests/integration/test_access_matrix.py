"""Every operation of the OpenAPI document, and everybody who may call it. An operation without a row fails.

Seats, WebSockets and what a revoked key has open: test_access_rules.py. What is behind /mcp: test_mcp_seat_keys.py.
"""

import pytest
from access_matrix import CALLERS, GUESTS, TOKEN, UNKNOWN, World, operations, refusal_of
from cells import each_of
from test_api_envelope import nothing_written

from app.bootstrap import build_relay, build_services, close_services
from app.web.application import make_application

ALL = frozenset(CALLERS)
OPERATORS = frozenset({"operator", "session"})
DEBATE = frozenset({"debater", "holder", "mute", "interested"})  # agents with the scope debate
ARBITRATE = frozenset({"referee", "interested"})
READERS = frozenset({"reader", "debater", "holder", "referee", "interested"}) | OPERATORS
INVITED = frozenset(GUESTS)
KNOWN = ALL - set(UNKNOWN)
NEUTRAL = frozenset({"debater", "mute"}) | OPERATORS  # may speak for a side that the others do not hold
CONTROL = frozenset({"referee"}) | OPERATORS  # "interested" holds a seat
JUDGES = CONTROL | {"judge's seat key"}
PUBLIC = READERS | {"nobody", "guest"}  # a browser does not send a guest's cookie there, and it is not looked at
CREATORS = DEBATE | OPERATORS

MAY = {
    "GET /health": ALL,
    "GET /ready": ALL,
    "GET /metrics": OPERATORS,
    "GET /system/status": READERS,
    "POST /mcp": KNOWN - {"guest"},
    "GET /debates": READERS,
    "POST /debates": CREATORS,
    "GET /debates/{debate_id}": READERS | INVITED,
    "DELETE /debates/{debate_id}": CONTROL,
    "GET /debates/{debate_id}/poll": READERS | INVITED,
    "GET /debates/{debate_id}/wait": READERS | INVITED,
    "GET /debates/{debate_id}/stream": READERS | INVITED,
    "GET /debates/{debate_id}/export": READERS | INVITED,
    "GET /debates/{debate_id}/events": READERS,
    "GET /debates/{debate_id}/judgments": READERS,
    "GET /debates/{debate_id}/arguments/{argument_id}/exchange": OPERATORS,
    "GET /debates/{debate_id}/judgments/{judgment_id}/exchange": OPERATORS,
    "POST /debates/{debate_id}/start": CONTROL,
    "POST /debates/{debate_id}/stop": CONTROL,
    "POST /debates/{debate_id}/pause": CONTROL,
    "POST /debates/{debate_id}/resume": CONTROL,
    "POST /debates/{debate_id}/invitations": CONTROL,
    "POST /debates/{debate_id}/fork": CREATORS,
    "POST /debates/{debate_id}/judgments": CREATORS,
    "POST /debates/{debate_id}/arguments as opponent": {"holder", "interested", "seat key", "guest"} | OPERATORS,
    "POST /debates/{debate_id}/arguments as proposer": NEUTRAL,
    "POST /debates/{debate_id}/appeal": NEUTRAL,
    "POST /debates/{debate_id}/resolution": NEUTRAL,
    "POST /debates/{debate_id}/ruling": JUDGES,
    "POST /debates/{debate_id}/question": JUDGES,
    "POST /debates/{debate_id}/intervention": JUDGES,
    "POST /debates/{debate_id}/seats/{role}/take as opponent": CREATORS | {"seat key", "guest"},
    "POST /debates/{debate_id}/seats/{role}/take as arbitrator": JUDGES,
    "POST /debates/{debate_id}/seats/{role}/release as opponent": {"holder", "interested", "seat key", "guest"}
    | OPERATORS,
    "GET /prompts": READERS,
    "POST /prompts": OPERATORS,
    "GET /prompts/{name}": READERS,
    "GET /models": READERS,
    "GET /webhooks": OPERATORS,
    "POST /webhooks": OPERATORS,
    "DELETE /webhooks/{webhook_id}": OPERATORS,
    "POST /webhooks/{webhook_id}/test": OPERATORS,
    "GET /webhooks/{webhook_id}/deliveries": OPERATORS,
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/replay": OPERATORS,
    "GET /experiments": READERS,
    "POST /experiments": CREATORS,
    "POST /experiments/plan": CREATORS,
    "POST /experiments/import": CREATORS,
    "GET /experiments/{experiment_id}": READERS,
    "DELETE /experiments/{experiment_id}": ARBITRATE | OPERATORS,
    "POST /experiments/{experiment_id}/motions": CREATORS,
    "GET /experiments/{experiment_id}/plan": READERS,
    "GET /experiments/{experiment_id}/matches": READERS,
    "GET /experiments/{experiment_id}/results": READERS,
    "GET /experiments/{experiment_id}/export": READERS,
    "POST /experiments/{experiment_id}/start": CREATORS,
    "POST /experiments/{experiment_id}/resume": CREATORS,
    "POST /experiments/{experiment_id}/pause": CREATORS,
    "POST /experiments/{experiment_id}/stop": ARBITRATE | OPERATORS,
    "POST /experiments/{experiment_id}/invitations": ARBITRATE | OPERATORS,
    "POST /experiments/{experiment_id}/retry-failed": CREATORS,
    "POST /experiments/{experiment_id}/judges": CREATORS,
    "GET /api/v1/agents": OPERATORS,
    "POST /api/v1/agents": OPERATORS,
    "POST /api/v1/agents/{agentId}/revoke": OPERATORS,
    "POST /api/v1/agents/{agentId}/rotate": OPERATORS,
    "GET /api/v1/solutions": PUBLIC,
    "POST /api/v1/solutions": DEBATE,
    "GET /api/v1/solutions/{solutionId}": PUBLIC,
    "GET /api/v1/solutions/{solutionId}/debates": PUBLIC,
    "POST /api/v1/solutions/{solutionId}/debates": DEBATE,
    "GET /api/v1/solutions/{solutionId}/debates/{contributionId}": PUBLIC,
    "PUT /api/v1/solutions/{solutionId}/debates/{contributionId}/upvote": DEBATE,
    "DELETE /api/v1/solutions/{solutionId}/debates/{contributionId}/upvote": DEBATE,
    "GET /api/v1/guardrail/solutions": ARBITRATE | OPERATORS,
    "GET /api/v1/guardrail/solutions/{solutionId}": ARBITRATE | OPERATORS,
    "POST /api/v1/guardrail/solutions/{solutionId}/decision": ARBITRATE | OPERATORS,
    "GET /api/v1/guardrail/evaluations": ARBITRATE | OPERATORS,
    "GET /api/v1/guardrail/evaluations/{evaluationId}": ARBITRATE | OPERATORS,
    "POST /api/v1/guardrail/evaluations/{evaluationId}/decision": ARBITRATE | OPERATORS,
}
NEED_THE_SERVER = {"GET /debates/{debate_id}/stream", "GET /metrics"}
"""Whoever may is answered by gunicorn's processes, which are not here."""


@pytest.fixture(scope="module")
def world(module_place):
    settings = module_place.settings.with_changes(auth_token=TOKEN, rate_limit="off")
    services = build_services(settings, name="matrix", database_connections=10)
    relay = build_relay(services)
    yield World(services, make_application(services, relay).test_client(use_cookies=False))
    relay.end()
    close_services(services)


def test_every_operation_has_a_row_and_every_row_an_operation(world):
    assert {row.partition(" as ")[0] for row in MAY} == operations(world.document).keys()


@each_of("row", MAY)
def test_who_may(world, module_place, row):
    operation, _, role = row.partition(" as ")
    given = {"role": role} if role else {}
    refused = [caller for caller in CALLERS if caller not in MAY[row]]
    for caller in refused:
        # Its debate and its key are made before, so that what is written is the call's.
        world.prepare(caller)
    with nothing_written(module_place):
        for caller in refused:
            # A guest's cookie is looked at only where a debate is named: elsewhere the browser is nobody.
            is_unknown = caller in UNKNOWN or (caller == "guest" and "{debate_id}" not in operation)
            status = refusal_of(world.ask(caller, operation, given))
            assert (caller, status) == (caller, 401 if is_unknown else 403)
    for caller in MAY[row]:
        answer = world.ask(caller, operation, given)
        assert refusal_of(answer) is None, (caller, answer.text)
        assert answer.status_code < 500 or operation in NEED_THE_SERVER, (caller, answer.text)
