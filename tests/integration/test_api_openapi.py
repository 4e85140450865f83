"""/openapi.json, and that the answers are what it says."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import jsonschema_rs
import pytest
from harness import new_debate
from test_api_envelope import NO_SUCH_DEBATE

from app.bootstrap import build_relay
from app.core.debate import Cursor, Debate, Limits, Status, StopReason, Turn, TurnType, Usage, Verdict
from app.core.experiments import spec
from app.core.experiments.motions import FIELDS
from app.core.players import SeatSetup
from app.core.schedules import BUILT_IN, ROUNDS
from app.core.seats import Seat
from app.http import answers
from app.http.experiments.shapes import motions_in
from app.http.imported import judgments_in
from app.http.rules import RULES
from app.http.sessions import DASHBOARD
from app.web.application import make_application
from app.wire import spec_shapes
from app.wire.debates import ArgumentShape, DebateShape
from app.wire.seat_shapes import SeatShape
from app.wire.shape import Shape

NOW = datetime(2026, 2, 3, 4, 5, 6, 789_999, tzinfo=UTC)
VERDICT = Verdict("tie", {"proposer": 0, "opponent": 9.5}, "Both were right.", stop=True)
ONE_ORDER = {"winner": "proposer", "scores": {"proposer": 7.5, "opponent": 6.0}}
USAGE = Usage(10, 20, 0.003, 1500)


@pytest.fixture(scope="module")
def document(api):
    answer = api.http.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def documented(document):
    methods = {"get", "put", "post", "delete", "patch"}
    return {(path, method) for path, item in document["paths"].items() for method in item if method in methods}


# The document


@pytest.fixture
def application(services):
    """Built in this process, which registers the rules of every view."""
    relay = build_relay(services)
    relay.end()
    return make_application(services, relay)


def test_no_route_is_missing_from_it(document, application):
    """Whoever adds a route without describing it hears it here."""
    rules = {
        (rule.rule.replace("<", "{").replace(">", "}"), method.lower())
        for rule in application.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.endpoint.split(".")[0] != DASHBOARD
    }
    undocumented = {path for path, _ in rules - documented(document)}
    assert undocumented <= {"/docs", "/openapi.json", "/static/{path:filename}", "/ws"}


def test_every_reference_in_it_leads_somewhere(document):
    def references(part):
        if isinstance(part, dict):
            yield from [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            part = list(part.values())
        if isinstance(part, list):
            for inner in part:
                yield from references(inner)

    found = set(references(document))
    assert found
    for reference in found:
        part = document
        for name in reference.removeprefix("#/").split("/"):
            part = part[name]


def test_every_operation_has_a_summary_and_a_name_of_its_own(document):
    operations = [document["paths"][path][method] for path, method in documented(document)]
    assert all(operation["summary"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)


def test_the_body_of_a_new_debate_is_described(document):
    schema = document["components"]["schemas"]["CreateDebateBody"]
    assert set(schema["required"]) == {"title", "debate_type", "motion_content", "client_request_id"}
    assert schema["additionalProperties"] is False
    assert (schema["properties"]["title"]["minLength"], schema["properties"]["title"]["maxLength"]) == (1, 200)


def schemas_in(part):
    if isinstance(part, dict):
        if "type" in part or "anyOf" in part or "$ref" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from schemas_in(inner)


def test_every_default_is_a_value_that_its_own_schema_allows(document):
    """A generated client sends defaults: `[]` for a text of GET /debates was answered with 400."""
    defaults = [schema for schema in schemas_in(document) if "default" in schema]
    assert defaults
    for schema in defaults:
        jsonschema_rs.validate({**schema, "components": document["components"]}, schema["default"])


def test_no_default_of_a_spec_is_sent_by_a_generated_client(document):
    """Whether an option is given makes a difference: rounds beside arms are refused."""
    parts = [document["components"]["schemas"][name] for name in ("SpecBody", "ContestantShape", "ArmRulesShape")]
    assert [schema for part in parts for schema in schemas_in(part) if "default" in schema] == []


def test_results_seats_and_specs_are_described_field_by_field(document):
    shapes = document["components"]["schemas"]

    def of(name, field):
        given = shapes[name]["properties"][field]
        found = next(one["$ref"] for one in [given, given.get("items", {}), *given.get("anyOf", [])] if "$ref" in one)
        return found.rpartition("/")[2]

    assert shapes["JudgeSpendingShape"]["properties"]["input_tokens"]["type"] == "integer"
    for shape in (
        of("ResultsData", "results"),
        of("CostsShape", "judges"),
        of("DebateShape", "seats"),
        of("ExperimentShape", "spec"),
    ):
        assert shapes[shape]["additionalProperties"] is False
    assert set(spec_shapes.GivenSpecShape.model_fields) == set(spec.KEYS)
    assert set(spec_shapes.ArmRulesShape.model_fields) == set(spec.ARM_KEYS)
    assert set(spec_shapes.ContestantShape.model_fields) == set(spec.CONTESTANT_KEYS)
    assert set(spec_shapes.SpecJudgeShape.model_fields) == set(spec.JUDGE_KEYS)
    assert set(spec_shapes.SpecMotionShape.model_fields) == set(FIELDS)
    assert set(SeatShape.model_fields) == set(SeatSetup.__slots__) - {"takeover"}
    assert shapes["SpecBody"]["properties"].keys() == set(spec.KEYS)


@pytest.mark.usefixtures("application")
def test_bodies_that_are_files_are_described_and_their_examples_are_taken(document):
    operations = {
        operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()
    }
    examples = {}
    for endpoint in (name for name, rules in RULES.items() if rules.is_lines):
        body = operations[endpoint.replace(".", "_").strip("_")]["requestBody"]
        [(kind, content)] = body["content"].items()
        assert (kind, content["schema"]) == ("application/octet-stream", {"type": "string", "format": "binary"})
        assert body["required"]
        assert body["description"]
        examples[endpoint] = content["example"].encode()
    assert len(motions_in(examples["experiments.add_motions"])) == 2
    assert len(judgments_in(examples["experiment_results.import_"])) == 1


# The answers


def test_every_answer_has_the_shape_that_the_document_names(api, document):
    debate_id = NO_SUCH_DEBATE
    body = new_debate(format="dialogue")

    def check(method, path, status, json=None):
        answer = api.http.request(method, path.replace("{debate_id}", debate_id), json=json)
        assert answer.status_code == status, answer.text
        described = document["paths"][path][method]["responses"][str(status)]
        reference = described["content"]["application/json"]["schema"]["$ref"]
        getattr(answers, reference.rpartition("/")[2]).model_validate_json(answer.text, strict=False)
        return answer.json().get("data")

    check("get", "/health", 200)
    check("get", "/ready", 200)
    check("get", "/debates/{debate_id}", 404)
    check("post", "/debates", 400, {})
    debate_id = check("post", "/debates", 201, body)["debate"]["id"]
    check("post", "/debates", 200, body)
    check("post", "/debates", 409, new_debate(debate_id=debate_id))
    check("post", "/debates", 413, new_debate(motion_content="x" * 20_000))
    verdict = {"winner": "opponent", "scores": {"proposer": 1, "opponent": 2.5}, "reasoning": "Both."}
    check("post", "/debates/{debate_id}/ruling", 403, {"content": "Now"})
    check("post", "/debates/{debate_id}/intervention", 201, {"client_request_id": "a"})
    check("post", "/debates/{debate_id}/intervention", 200, {"client_request_id": "a"})
    ruling = {"content": "x", "verdict": verdict, "client_request_id": "b"}
    check("post", "/debates/{debate_id}/ruling", 201, ruling)
    check("post", "/debates/{debate_id}/ruling", 200, ruling)
    check("post", "/debates/{debate_id}/ruling", 409, {"content": "x", "client_request_id": "b"})
    check("get", "/debates/{debate_id}", 200)
    check("post", "/debates/{debate_id}/pause", 200)
    check("post", "/debates/{debate_id}/resume", 200)
    check("post", "/debates/{debate_id}/stop", 200, {"reason": "Enough"})
    check("post", "/debates/{debate_id}/pause", 403)
    check("get", "/debates", 200)
    check("delete", "/debates/{debate_id}", 200)


def a_debate(**changes):
    debate = Debate(
        id=uuid4(),
        title="Cars in cities",
        debate_type="general_debate",
        schedule=ROUNDS,
        status=Status.RUNNING,
        cursor=Cursor(2, Seat.OPPONENT),
        seats={seat: SeatSetup("scripted") for seat in Seat},
        limits=Limits(),
        created_at=NOW,
        updated_at=NOW,
    )
    return debate.evolve(**changes)


def a_turn(**changes):
    required = {"seq": 2, "round": 1, "seat": Seat.PROPOSER, "type": TurnType.CLAIM, "content": "So", "player": "x"}
    return Turn(**{"id": uuid4(), "debate_id": uuid4(), **required, "created_at": NOW, **changes})


DEBATES = [
    *[a_debate(schedule=form) for form in BUILT_IN.values()],
    *[a_debate(status=status) for status in Status],
    *[a_debate(status=Status.STOPPED, stop_reason=reason, stop_note="Enough") for reason in StopReason],
    *[a_debate(cursor=Cursor(1, seat), intervention_open=seat is Seat.ARBITRATOR) for seat in Seat],
    a_debate(status=Status.FAILED, last_error="It broke", attempts=5, next_attempt_at=NOW),
    a_debate(limits=Limits(3, 60.5, 2**53, 0.25), usage=USAGE, verdict=VERDICT),
    a_debate(seats={seat: SeatSetup("scripted", "A mayor", 0.5, 300, 1.5, True, None) for seat in Seat}),
    a_debate(seats={seat: SeatSetup("external", agent_id=str(uuid4())) for seat in Seat}),
]
TURNS = [
    *[a_turn(type=kind) for kind in TurnType],
    *[a_turn(seat=seat) for seat in Seat],
    a_turn(round=None, type=TurnType.INTERVENTION, parent_id=uuid4(), client_request_id="a"),
    a_turn(verdict=VERDICT, usage=USAGE),
    a_turn(verdict=replace(VERDICT, orders=dict.fromkeys(("as_spoken", "swapped"), ONE_ORDER))),
    a_turn(usage=Usage()),
]


@pytest.mark.parametrize(
    ("shape", "wire"),
    [
        *((DebateShape, DebateShape.of(debate)) for debate in DEBATES),
        *((ArgumentShape, ArgumentShape.of(turn)) for turn in TURNS),
    ],
)
def test_every_debate_and_argument_on_the_wire_has_the_documented_shape(shape, wire):
    assert list(wire) == list(shape.model_fields)
    shown = shape.model_validate_json(json.dumps(wire), strict=True)
    assert shown.model_dump(mode="json", exclude_unset=True) == wire


def shapes_below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from shapes_below(each)


def test_no_two_schemas_share_a_name(document):
    """flask-openapi3 keeps the one that comes last: the scope of a verdict was documented as the scope of a key."""
    described = document["components"]["schemas"]
    for shape in shapes_below(Shape):
        if shape.__name__ in described:
            for name, own in shape.model_json_schema(mode="serialization").get("$defs", {}).items():
                assert described[name].get("enum") == own.get("enum"), (shape.__name__, name)
                assert described[name].get("properties", {}).keys() == own.get("properties", {}).keys(), name
    assert described["VerdictScope"]["enum"] == ["round", "debate"]
    assert described["Scope"]["enum"] == ["read", "debate", "arbitrate"]


def test_times_are_utc_with_milliseconds_cut_not_rounded():
    assert DebateShape.of(a_debate())["created_at"] == "2026-02-03T04:05:06.789Z"
    assert ArgumentShape.of(a_turn())["created_at"] == "2026-02-03T04:05:06.789Z"
