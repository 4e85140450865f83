"""Formats that users write, through the API: versions, deletion, refusals, and debates of workers to their end."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import Api, Place, new_debate, wait_until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_server import ModelServer
from test_api_envelope import data_of, refusal_of

from app.core.schedule_files import MOST_BYTES
from app.core.schedules import BUILT_IN

pytestmark = pytest.mark.timeout(300)
TOKEN = "a-token-of-the-operator"  # noqa: S105 (of this test's server)
EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples" / "formats").glob("*.yaml"))
SHORT: dict[str, Any] = {
    "name": "short",
    "description": "A question, an answer, the last words",
    "opening": [
        {"name": "Case", "steps": [{"seat": "proposer", "words": 40}, {"seat": "opponent", "kind": "question"}]},
        {"name": "Answer", "steps": [{"seat": "proposer"}, {"seat": "opponent", "words": 30}]},
    ],
    "closing": [{"steps": [{"seat": "proposer"}, {"seat": "arbitrator"}]}],
    "appeals": False,
}
LONGER = {**SHORT, "description": "Longer", "repeated": {"steps": [{"seat": "proposer"}, {"seat": "opponent"}]}}
ORDER = [
    *((1, "proposer", "CLAIM"), (1, "opponent", "QUESTION"), (2, "proposer", "CLAIM"), (2, "opponent", "CLAIM")),
    *((3, "proposer", "CLAIM"), (3, "arbitrator", "RULING")),
]
PEOPLE = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}
SCRIPTED = {role: {"player": "scripted"} for role in PEOPLE}


def add(api: Api, schedule: dict[str, Any]) -> dict[str, Any]:
    """Tests share an API, so it may be there already."""
    answer = api.http.post("/formats", json=schedule)
    assert answer.status_code in (200, 201), answer.text
    added: dict[str, Any] = answer.json()["data"]["format"]
    return added


def create(api: Api, **changes: Any) -> dict[str, Any]:
    body = new_debate(**{"format": "short", "seats": PEOPLE, "limits": {}, **changes})
    made: dict[str, Any] = data_of(api.http.post("/debates", json=body), 201)["debate"]
    return made


def order(transcript: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(each["round"], each["role"], each["type"]) for each in transcript["arguments"]]


def test_a_format_is_added_listed_and_shown(api: Api) -> None:
    listed_one = {**SHORT, "name": "listed"}
    added = data_of(api.http.post("/formats", json=listed_one), 201)["format"]
    assert (added["name"], added["built_in"], added["schedule"]) == ("listed", False, listed_one)
    assert data_of(api.http.post("/formats", json=listed_one), 200)["format"] == added
    data_of(api.http.post("/formats", json={**LONGER, "name": "listed"}), 201)
    data_of(api.http.post("/formats", json=listed_one), 201)
    listed = data_of(api.http.get("/formats"))["formats"]
    assert [each["name"] for each in listed if each["built_in"]] == [*BUILT_IN]
    assert added in listed[len(BUILT_IN) :]
    assert data_of(api.http.get("/formats/listed"))["format"] == added
    assert data_of(api.http.get("/formats/rounds"))["format"]["built_in"] is True
    refusal_of(api.http.get("/formats/nobodys"), "NOT_FOUND")


def test_a_debate_keeps_the_version_that_the_name_meant_and_survives_a_deletion(api: Api) -> None:
    first = add(api, SHORT)
    body = new_debate(format="short", seats=PEOPLE, limits={})
    old = data_of(api.http.post("/debates", json=body), 201)["debate"]
    assert (old["format"], old["format_hash"], old["schedule"]) == ("short", first["hash"], SHORT)
    assert (old["round_name"], old["limits"]["max_rounds"]) == ("Case", 3)
    second = add(api, LONGER)
    new = create(api)
    assert (new["format_hash"], new["limits"]["max_rounds"]) == (second["hash"], 4)
    assert add(api, SHORT)["hash"] == first["hash"]  # the old version again is what the name means
    assert data_of(api.http.delete("/formats/short"))["deleted"] is True
    refusal_of(api.http.delete("/formats/short"), "NOT_FOUND")
    refusal_of(api.http.post("/debates", json=new_debate(format="short")), "INVALID_INPUT", "format")
    # The same request again is answered with its debate.
    assert data_of(api.http.post("/debates", json=body), 200)["debate"]["id"] == old["id"]
    assert [api.debate(each["id"])["format_hash"] for each in (old, new)] == [first["hash"], second["hash"]]
    listed = data_of(api.http.get("/debates", params={"format": "short"}))
    assert {each["id"] for each in listed["debates"]} >= {old["id"], new["id"]}


def test_a_built_in_format_is_neither_replaced_nor_deleted(api: Api) -> None:
    refusal_of(api.http.delete("/formats/rounds"), "INVALID_INPUT", "name")
    refusal_of(api.http.post("/formats", json={**SHORT, "name": "rounds"}), "INVALID_INPUT", "name")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "no spaces"}, "name"),
        ({"opening": [{"steps": [{"seat": "proposer"}, {"seat": "judge"}]}]}, "opening[0].steps[1].seat"),
        ({"opening": [{"steps": [{"seat": "proposer", "words": 0}]}]}, "opening[0].steps[0].words"),
        ({"repeated": {"steps": []}}, "repeated.steps"),
        ({"closing": [{"steps": [{"seat": "opponent", "kind": "ruling"}]}]}, "closing[0].steps[0].kind"),
        ({"chess": True}, "chess"),
        ({"opening": None, "closing": None}, "opening"),
    ],
)
def test_a_mistake_is_named_by_its_path(api: Api, changes: dict[str, Any], field: str) -> None:
    refusal_of(api.http.post("/formats", json={**SHORT, **changes}), "INVALID_INPUT", field)


def test_a_format_has_at_most_64_kilobytes(api: Api) -> None:
    refusal_of(api.http.post("/formats", json={**SHORT, "description": "x" * MOST_BYTES}), "CONTENT_TOO_LARGE")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
STEPS = st.fixed_dictionaries(
    {},
    optional={
        "seat": st.sampled_from(["proposer", "opponent", "arbitrator"]) | ANYTHING,
        "kind": st.sampled_from(["speech", "question", "ruling"]) | ANYTHING,
        "words": st.integers(-1, 20_000) | ANYTHING,
    },
)
ROUNDS = (
    st.fixed_dictionaries({"steps": st.lists(STEPS, max_size=4) | ANYTHING}, optional={"name": ANYTHING}) | ANYTHING
)
FORMATS = st.fixed_dictionaries(
    {"name": st.sampled_from(["fuzzed", "rounds"]) | st.text(max_size=70)},
    optional={
        "opening": st.lists(ROUNDS, max_size=3) | ANYTHING,
        "repeated": ROUNDS,
        "closing": st.lists(ROUNDS, max_size=3) | ANYTHING,
        "appeals": ANYTHING,
        "description": st.text(max_size=600) | ANYTHING,
    },
)


@given(FORMATS | st.dictionaries(st.text(max_size=9), ANYTHING, max_size=4))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_the_answer_is_a_format_or_names_a_field(api: Api, sent: dict[str, Any]) -> None:
    answer = api.http.post("/formats", json=sent)
    assert answer.status_code in (200, 201, 400, 413), answer.text
    if answer.status_code == 400:
        assert answer.json()["error"]["field"]
    elif answer.is_success:
        made = answer.json()["data"]["format"]
        assert data_of(api.http.get(f"/formats/{made['name']}"))["format"] == made


def test_rounds_and_seats_follow_from_the_schedule(api: Api) -> None:
    add(api, SHORT)
    for rounds in (2, 4):
        wrong = new_debate(format="short", limits={"max_rounds": rounds})
        refusal_of(api.http.post("/debates", json=wrong), "INVALID_INPUT", "limits.max_rounds")
    hidden = {"steps": [{"seat": "proposer"}, {"seat": "opponent"}], "simultaneous": True}
    add(api, {"name": "hidden", "opening": [hidden], "closing": [{"steps": [{"seat": "arbitrator"}]}]})
    body = new_debate(format="hidden", seats={"opponent": {"player": "external"}}, limits={})
    refusal_of(api.http.post("/debates", json=body), "INVALID_INPUT", "seats.opponent.player")


def test_people_follow_the_schedule_and_its_words(api: Api) -> None:
    add(api, SHORT)
    debate = create(api)
    motion = api.transcript(debate["id"])["motion"]["id"]
    at = f"/debates/{debate['id']}"
    long = {"role": "proposer", "target_id": motion, "content": "word " * 41, "client_request_id": "r1"}
    assert refusal_of(api.http.post(f"{at}/arguments", json=long), "CONTENT_TOO_LARGE")["max_words"] == 40
    said = data_of(api.http.post(f"{at}/arguments", json={**long, "content": "Trams."}), 201)
    refusal_of(
        api.http.post(
            f"{at}/arguments",
            json={**long, "role": "opponent", "target_id": said["argument"]["id"], "client_request_id": "r2"},
        ),
        "ACTION_NOT_ALLOWED",
    )
    asked = data_of(api.http.post(f"{at}/question", json={"role": "opponent", "content": "Why?"}), 201)
    assert (asked["argument"]["type"], asked["debate"]["round_name"]) == ("QUESTION", "Answer")
    poll = data_of(api.http.get(f"{at}/poll", params={"role": "proposer"}))
    assert poll["action"] == "respond"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_workers_hold_a_debate_of_every_example_to_its_verdict(place: Place, path: Path) -> None:
    api = place.start_api()
    place.start_worker()
    schedule = yaml.safe_load(path.read_text())
    assert schedule["name"] == path.stem
    add(api, schedule)
    debate = create(api, format=path.stem, seats=SCRIPTED)
    ended = api.wait_closed(debate["id"])["debate"]
    assert (ended["status"], ended["stop_reason"]) == ("completed", "max_rounds")
    assert ended["verdict"]["scope"] == "debate"
    numbers = [each["round"] for each in api.transcript(debate["id"])["arguments"]]
    assert numbers == sorted(numbers)
    assert numbers[-1] == ended["limits"]["max_rounds"]


def test_models_and_scripted_players_hold_a_debate_and_its_fork_and_are_told_the_rules(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = place.start_api()
    add(api, SHORT)
    with ModelServer() as models:
        for name, value in models.environment.items():
            monkeypatch.setenv(name, value)
        place.start_worker()
        seats = {**SCRIPTED, "proposer": {"player": "openai:gpt-4o-mini"}}
        debate = create(api, seats=seats)
        ended = api.wait_closed(debate["id"])["debate"]
        assert (ended["status"], order(api.transcript(debate["id"]))) == ("completed", ORDER)
        told = [call.instructions for call in models.calls]
    assert all("In round 1 (Case) the proposer speaks in at most 40 words" in text for text in told)
    data_of(api.http.delete("/formats/short"))
    fork = {"after_seq": 4, "client_request_id": "fork-1", "seats": SCRIPTED}
    forked = data_of(api.http.post(f"/debates/{debate['id']}/fork", json=fork), 201)["debate"]
    assert (forked["format_hash"], forked["schedule"]) == (ended["format_hash"], SHORT)
    assert api.wait_closed(forked["id"])["debate"]["status"] == "completed"
    assert order(api.transcript(forked["id"])) == ORDER


@pytest.mark.parametrize("name", ["a\0b", "\ud85f", "", "x" * 400, "no-such-format"])
def test_a_name_that_no_format_has_is_refused_everywhere(api: Api, name: str) -> None:
    """Postgres stores neither a NUL nor half of a surrogate pair, and cannot search for them."""
    spec = {"name": "hostile", "contestants": [{"name": "a", "player": "scripted"}], "format": name}
    for path, body in (
        ("/experiments", spec),
        ("/experiments/plan", {"spec": spec}),
        ("/debates", new_debate(format=name)),
    ):
        sent = api.http.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert sent.status_code == 400, (path, sent.text)


def test_an_arm_of_an_experiment_runs_in_a_custom_format(place: Place) -> None:
    api = place.start_api()
    add(api, SHORT)
    spec = {
        "name": "custom",
        "contestants": [{"name": name, "player": "scripted", "skill": skill} for name, skill in (("a", 0), ("b", 1))],
        "arms": {"short": {"format": "short"}, "plain": {"format": "final_ruling", "rounds": 1}},
        "judges": [{"name": "j", "player": "scripted", "orders": "both"}],
    }
    made = data_of(api.http.post("/experiments", json=spec), 201)["experiment"]
    line = json.dumps({"id": "m", "motion": "Cities should ban cars"})
    api.http.post(f"/experiments/{made['id']}/motions", content=line).raise_for_status()
    place.start_worker()
    api.http.post(f"/experiments/{made['id']}/start").raise_for_status()

    def state() -> dict[str, Any]:
        return data_of(api.http.get(f"/experiments/{made['id']}"))["experiment"]

    wait_until(lambda: state()["status"] == "completed", 60, "both arms are judged")
    assert state()["progress"]["debates"]["completed"] == 4
    found = data_of(api.http.get("/debates", params={"experiment": made["id"], "format": "short"}))["debates"]
    assert [each["format_hash"] for each in found] == [add(api, SHORT)["hash"]] * 2
    assert {turn for each in found for turn in order(api.transcript(each["id"]))} == set(ORDER)


def test_only_the_owner_and_the_operator_replace_and_delete_a_format(place: Place) -> None:
    api = place.start_api(auth_token=TOKEN)
    operator = {"Authorization": f"Bearer {TOKEN}"}
    keys = []
    for name in ("owner", "other"):
        made = api.http.post("/api/v1/agents", json={"username": name}, headers=operator).json()["data"]
        keys.append({"Authorization": f"Bearer {made['apiKey']}"})
    owner, other = keys
    data_of(api.http.post("/formats", json=SHORT, headers=owner), 201)
    data_of(api.http.post("/formats", json=SHORT, headers=other), 200)
    refusal_of(api.http.post("/formats", json=LONGER, headers=other), "FORBIDDEN")
    refusal_of(api.http.delete("/formats/short", headers=other), "FORBIDDEN")
    data_of(api.http.post("/formats", json=LONGER, headers=owner), 201)
    # It stays its owner's when the operator replaces it.
    data_of(api.http.post("/formats", json=SHORT, headers=operator), 201)
    data_of(api.http.delete("/formats/short", headers=owner))
    data_of(api.http.post("/formats", json=LONGER, headers=other), 201)
