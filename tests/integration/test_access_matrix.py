"""Every operation of the OpenAPI document, and everybody who may call it. An operation without a row fails.

Seats, WebSockets and what a revoked key has open: test_access_rules.py. What is behind /mcp: test_mcp_seat_keys.py.
"""

import pytest
from access_matrix import CALLERS, GUESTS, OURS, TOKEN, UNKNOWN, operations, refusal_of
from documents import rows
from harness import new_debate, numbers
from test_api_envelope import nothing_written

from app.core.access import OPERATOR, Scope
from app.http.sessions import COOKIE
from app.usecases import agents

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
    "POST /debates/{debate_id}/invitations as watcher": CONTROL,
    "POST /debates/{debate_id}/invitations as arbitrator": CONTROL,
    # "referee" lacks the scope, "interested" holds a seat.
    "POST /debates/{debate_id}/invitations as proposer": OPERATORS,
    "GET /debates/{debate_id}/invitations": ARBITRATE | OPERATORS,
    "DELETE /debates/{debate_id}/invitations/{invitation_id}": ARBITRATE | OPERATORS,
    "POST /debates/{debate_id}/fork": CREATORS - {"mute"},
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
    "GET /formats": READERS,
    "POST /formats": CREATORS,
    "GET /formats/{name}": READERS,
    "DELETE /formats/{name}": CREATORS,
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
    "POST /debates/import": CREATORS,
    "GET /experiments/{experiment_id}": READERS,
    "DELETE /experiments/{experiment_id}": CREATORS,
    "POST /experiments/{experiment_id}/motions": CREATORS,
    "GET /experiments/{experiment_id}/plan": READERS,
    "GET /experiments/{experiment_id}/matches": READERS,
    "GET /experiments/{experiment_id}/results": READERS,
    "GET /experiments/{experiment_id}/export": READERS,
    "POST /experiments/{experiment_id}/start": CREATORS,
    "POST /experiments/{experiment_id}/resume": CREATORS,
    "POST /experiments/{experiment_id}/pause": CREATORS,
    "POST /experiments/{experiment_id}/stop": CREATORS,
    "POST /experiments/{experiment_id}/invitations": CREATORS,
    "GET /experiments/{experiment_id}/invitations": CREATORS & READERS,
    "DELETE /experiments/{experiment_id}/invitations/{invitation_id}": CREATORS,
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
"""Of experiments: of one that is not there."""
OWNERS = frozenset({"owner", "owner with arbitrate"}) | OPERATORS
OWNERS_OF_DEBATES = OWNERS - {"owner"}
EVERYBODY = OWNERS | {"stranger"}
MAY_WITH_AN_EXPERIMENT = {
    "GET /experiments/{experiment_id}": EVERYBODY,
    "GET /experiments/{experiment_id}/plan": EVERYBODY,
    "GET /experiments/{experiment_id}/matches": EVERYBODY,
    "GET /experiments/{experiment_id}/results": EVERYBODY,
    "GET /experiments/{experiment_id}/export": EVERYBODY,
    "DELETE /experiments/{experiment_id}": OWNERS,
    "POST /experiments/{experiment_id}/motions": OWNERS,
    "POST /experiments/{experiment_id}/judges": OWNERS,
    "POST /experiments/{experiment_id}/start": OWNERS,
    "POST /experiments/{experiment_id}/resume": OWNERS,
    "POST /experiments/{experiment_id}/pause": OWNERS,
    "POST /experiments/{experiment_id}/stop": OWNERS,
    "POST /experiments/{experiment_id}/retry-failed": OWNERS,
    "POST /experiments/{experiment_id}/invitations": OWNERS,
    "GET /experiments/{experiment_id}/invitations": OWNERS,
    "DELETE /experiments/{experiment_id}/invitations/{invitation_id}": OWNERS,
    "GET /debates/{debate_id}": EVERYBODY,
    "GET /debates/{debate_id}/judgments": EVERYBODY,
    "POST /debates/{debate_id}/judgments": EVERYBODY,  # a stranger's does not count: test_others_judgments.py
    "POST /debates/{debate_id}/fork": EVERYBODY,
    "DELETE /debates/{debate_id}": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/start": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/stop": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/pause": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/resume": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/invitations": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/arguments as opponent": OWNERS,
    "POST /debates/{debate_id}/appeal": OWNERS,
    "POST /debates/{debate_id}/resolution": OWNERS,
    "POST /debates/{debate_id}/ruling": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/question": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/intervention": OWNERS_OF_DEBATES,
    "POST /debates/{debate_id}/seats/{role}/take as opponent": OWNERS,
    "POST /debates/{debate_id}/seats/{role}/release as opponent": OWNERS,
}
AT = "POST /experiments/{experiment_id}"
OF_DEBATE = "POST /debates/{debate_id}"
DOCUMENTED = {
    "read it": [row for row, may in MAY_WITH_AN_EXPERIMENT.items() if row.startswith("GET") and may == EVERYBODY],
    "add motions": [row for row in MAY_WITH_AN_EXPERIMENT if row.startswith(AT)]
    + ["DELETE /experiments/{experiment_id}"]
    + [
        f"{verb} /experiments/{{experiment_id}}/invitations{of}"
        for verb, of in (("GET", ""), ("DELETE", "/{invitation_id}"))
    ],
    "start, stop": [
        f"{OF_DEBATE}/{name}"
        for name in ("start", "stop", "pause", "resume", "invitations", "ruling", "question", "intervention")
    ]
    + ["DELETE /debates/{debate_id}"],
    "speak": [row for row in MAY_WITH_AN_EXPERIMENT if row.endswith(("as opponent", "/appeal", "/resolution"))],
    "fork": [f"{OF_DEBATE}/fork"],
    "judge": [f"{OF_DEBATE}/judgments"],
}
"""The rows of docs/access.md, by how they begin. What counts is in test_others_judgments.py."""
NEED_THE_SERVER = {"GET /debates/{debate_id}/stream", "GET /metrics"}
"""Whoever may is answered by gunicorn's processes, which are not here."""


def test_every_operation_has_a_row_and_every_row_an_operation(world):
    assert {row.partition(" as ")[0] for row in MAY} == operations(world.document).keys()


@pytest.mark.parametrize("row", MAY)
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


@pytest.mark.parametrize("row", MAY_WITH_AN_EXPERIMENT)
def test_who_may_with_an_experiment_and_its_debates(world, module_place, row):
    operation, _, role = row.partition(" as ")
    given = {"role": role} if role else {}
    of_somebody_else = {**given, **world.new_experiment("stranger")}
    for caller in EVERYBODY:
        world.prepare(caller)
    with nothing_written(module_place):
        for caller in EVERYBODY - MAY_WITH_AN_EXPERIMENT[row]:
            assert (caller, refusal_of(world.ask(caller, operation, of_somebody_else))) == (caller, 403)
    for caller in MAY_WITH_AN_EXPERIMENT[row]:
        answer = world.ask(caller, operation, {**given, **world.new_experiment(caller)})
        assert refusal_of(answer) is None, (caller, answer.text)
        assert answer.status_code < 500, (caller, answer.text)


def test_every_change_of_an_experiment_has_a_row_for_owner_and_stranger(world):
    of_experiments = {row for row in operations(world.document) if "{experiment_id}" in row}
    assert of_experiments <= MAY_WITH_AN_EXPERIMENT.keys()


def test_the_page_says_who_may_with_an_experiment():
    columns = ("owner", "owner with arbitrate", "stranger", "operator")
    *documented, counts = rows("access.md", "with an experiment")
    assert counts[0].startswith("ask a judge of its spec")
    assert sorted(row for group in DOCUMENTED.values() for row in group) == sorted(MAY_WITH_AN_EXPERIMENT)
    for (begins, group), (says, *cells) in zip(DOCUMENTED.items(), documented, strict=True):
        assert says.startswith(begins)
        for row in group:
            may = ["yes" if caller in MAY_WITH_AN_EXPERIMENT[row] else "no" for caller in columns]
            assert (row, may) == (row, cells)


# Columns that depend on whose something is: the tables of docs/access.md. The agents have all scopes and no seat.

OF_INVITATIONS = {
    "operator": ("all", True),
    "session": ("all", True),
    "issuer": ("its own", True),
    "stranger": ("none", False),
}
"""Whose invitations the caller lists, and whether it revokes the issuer's."""
OF_FORKS = {"operator": True, "session": True, "holder": False, "stranger": False}
"""Whether the caller's fork of an open debate has its hidden document and learns which answer is correct."""


def test_the_table_of_the_document_is_the_one_above():
    callers = ("operator", "issuer", "stranger")
    lists, revokes, forks = (cells[1:] for cells in rows("access.md", "invitations and forks"))
    assert tuple(lists) == tuple(OF_INVITATIONS[caller][0] for caller in callers)
    assert [cell == "yes" for cell in revokes] == [OF_INVITATIONS[caller][1] for caller in callers]
    assert [cell == "yes" for cell in forks] == [OF_FORKS.get(caller, False) for caller in callers]


@pytest.fixture
def sent_by(world):
    """What each of these callers sends."""

    def key(name):
        agent = f"{name}-{next(numbers)}"
        return agents.create_agent(world.services, OPERATOR, agent, None, frozenset(Scope))[1].secret

    keys = {**{name: key(name) for name in ("issuer", "stranger", "holder")}, "operator": TOKEN}
    sent = {name: {**OURS, "Authorization": f"Bearer {secret}"} for name, secret in keys.items()}
    return {**sent, "session": {**OURS, "Cookie": f"{COOKIE}={world.session}"}}


@pytest.mark.parametrize("caller", OF_INVITATIONS)
def test_who_lists_and_revokes_invitations(world, sent_by, caller):
    lists, revokes = OF_INVITATIONS[caller]
    at, body = f"/debates/{world.new_debate('seat key')[0]}/invitations", {"role": "opponent"}
    ids = {}
    for issuer in ("issuer", "operator"):
        issued = world.client.post(at, json=body, headers=sent_by[issuer])
        assert issued.status_code == 201, issued.text
        ids[issuer] = issued.json["data"]["id"]
    sent = sent_by[caller]
    shown = {one["id"] for one in world.client.get(at, headers=sent).json["data"]["invitations"]}
    assert shown == {"all": set(ids.values()), "its own": {ids["issuer"]}, "none": set()}[lists]
    for issuer, may in (("issuer", revokes), ("operator", lists == "all")):
        answer = world.client.delete(f"{at}/{ids[issuer]}", headers=sent)
        assert answer.status_code == (200 if may else 403), (issuer, answer.text)


@pytest.mark.parametrize("caller", OF_FORKS)
def test_whose_fork_of_an_open_debate_discloses_its_material(world, sent_by, caller):
    material = {"document": "The code is 4711.", "answers": {"proposer": "Yes.", "opponent": "No."}}
    body = new_debate(format="dialogue", material={**material, "correct": "opponent"})
    source = world.client.post("/debates", json=body, headers=sent_by["operator"]).json["data"]["debate"]["id"]
    taken = world.client.post(f"/debates/{source}/seats/opponent/take", headers=sent_by["holder"])
    assert taken.status_code == 200, taken.text
    asked = {"after_seq": 1, "client_request_id": f"fork-{next(numbers)}"}
    forked = world.client.post(f"/debates/{source}/fork", json=asked, headers=sent_by[caller])
    fork = forked.json["data"]["debate"]["id"]
    stopped = world.client.post(f"/debates/{fork}/stop", json={}, headers=sent_by["operator"])
    assert stopped.status_code == 200, stopped.text
    found = world.client.get(f"/debates/{fork}", headers=sent_by["stranger"]).json["data"]["debate"]["material"]
    discloses = ("The code is 4711.", "opponent") if OF_FORKS[caller] else (None, None)
    assert (found["document"], found["correct"]) == discloses
    assert found["answers"] == material["answers"]
