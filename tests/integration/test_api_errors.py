"""Requests that are wrong in themselves: each is refused in words that name the field, and nothing is written."""

import json

import pytest
from harness import new_debate
from test_api_envelope import NO_SUCH_DEBATE, data_of, nothing_written, refusal_of
from test_protocol_table import standing_in

JSON = {"Content-Type": "application/json"}
TAKE_BODIES = ("stop", "pause", "resume", "ruling", "intervention", "arguments", "appeal", "resolution")
LONE_SURROGATE = "a\ud800b"
VERDICT = {"winner": "tie", "scores": {"proposer": 5, "opponent": 5}, "reasoning": "Both were right."}
ACTIONS = {
    "GET": ("", "/poll?role=proposer", "/export"),
    "DELETE": ("",),
    "POST": ("/stop", "/pause", "/resume", "/ruling", "/intervention"),
}
EVERY_ENDPOINT = [(method, path) for method, paths in ACTIONS.items() for path in paths]


def each_of(table):
    return [(field, value) for field, values in table.items() for value in values]


def body_for(path):
    return {"content": "So be it"} if path == "/ruling" else None


def post_raw(api, body, path="/debates", headers=JSON):
    return api.http.post(path, content=body, headers=headers)


@pytest.fixture
def awaits_ruling(api):
    return standing_in(api, "INTERVENTION_PENDING", "dialogue")


# The body as a whole


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "is not JSON"),
        (b"nonsense", "is not JSON"),
        (b"{'title': 'x'}", "is not JSON"),
        (b'{"title": "x",}', "is not JSON"),
        (b'{"title": "a\nb"}', "is not JSON"),
        (json.dumps(new_debate()).encode()[:-20], "is not JSON"),
        (json.dumps(new_debate()).encode() + b"{}", "is not JSON"),
        (b'{"title": "\xff\xfe"}', "is not UTF-8"),
        ('{"title": "é"}'.encode("latin-1"), "is not UTF-8"),
        (b"[]", "must be a JSON object"),
        (b'["title"]', "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'"title"', "must be a JSON object"),
        (b"12", "must be a JSON object"),
        (b"NaN", "must be a JSON object"),
        (b"", "must be a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"seats":' * 20_000 + b"1" + b"}" * 20_000, "nested too deeply"),
        (b'{"title": ' + b"9" * 5_000 + b"}", "number"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value[:20]),
)
def test_a_body_that_is_not_a_json_object_is_refused(api, module_place, body, words):
    with nothing_written(module_place):
        assert refusal_of(post_raw(api, body), "INVALID_INPUT", "body: ", words)["field"] == "body"


@pytest.mark.parametrize("path", ["", *(f"/{action}" for action in TAKE_BODIES)])
@pytest.mark.parametrize(
    ("body", "words"),
    [(b'{"content": ', "is not JSON"), (b'{"content": "\xff"}', "is not UTF-8"), (b"[]", "must be a JSON object")],
)
def test_a_broken_body_is_refused_everywhere(api, module_place, awaits_ruling, path, body, words):
    where = f"/debates/{awaits_ruling}{path}" if path else "/debates"
    with nothing_written(module_place):
        refusal_of(post_raw(api, body, where), "INVALID_INPUT", f"body: {words}")


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"]
)
def test_a_body_of_another_type_is_refused(api, module_place, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    with nothing_written(module_place):
        answer = post_raw(api, json.dumps(new_debate()).encode(), headers=headers)
    refusal_of(answer, "INVALID_INPUT", "body: ", "application/json")


def test_a_json_content_type_may_name_its_charset(api):
    data_of(post_raw(api, json.dumps(new_debate()), headers={"Content-Type": "application/json; charset=utf-8"}), 201)


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("megabytes", [1, 20])
def test_a_body_of_many_megabytes_is_too_large_whether_it_says_so_or_not(api, module_place, megabytes, in_chunks):
    body = json.dumps(new_debate(motion_content="x" * 1_000_000 * megabytes)).encode()
    parts = (body[at : at + 100_000] for at in range(0, len(body), 100_000))
    with nothing_written(module_place):
        answer = post_raw(api, parts if in_chunks else body)
    error = refusal_of(answer, "CONTENT_TOO_LARGE")
    assert error["max_length"] == 10_240
    what = {1: "motion_content", 20: "each text"}[megabytes]
    assert error["suggestion"] == f"Shorten {what} to 10240 bytes of UTF-8 or less"
    assert api.is_up()


# The fields of a new debate

WRONG_FIELDS = {
    "title": [5, None, True, ["x"], {}, float("nan"), "", " \t\n", "x" * 201, "日" * 201, "a\x00b", LONE_SURROGATE],
    "debate_type": ["shouting_match", "GENERAL_DEBATE", "", 1],
    "motion_content": [5, "", "   ", "a\x00b", LONE_SURROGATE],
    "client_request_id": [5, "", "  ", "a\x00b", LONE_SURROGATE],
    "debate_id": ["not-a-uuid", "", 5, NO_SUCH_DEBATE[:-1], NO_SUCH_DEBATE + "0"],
    "format": ["circus", "ROUNDS", 3],
    "seats": [[], "scripted"],
    "seats.judge": [{"player": "scripted"}],
    "seats.opponent": ["scripted", {}],
    "seats.opponent.player": [None, 1, "", "nobody-knows-me", "a\x00b", LONE_SURROGATE],
    "seats.proposer.player": ["Scripted"],
    "seats.arbitrator.player": ["x" * 201],
    "seats.opponent.base_url": ["http://evil.example"],
    "seats.opponent.api_key": ["sk-mine"],
    "seats.opponent.persona": [5, " ", "a\x00b", LONE_SURROGATE],
    "seats.opponent.temperature": ["0.5", -0.1, 2.1, True, float("nan")],
    "seats.opponent.max_tokens": [0, 1.5, "300", 2**31],
    "seats.opponent.think_seconds": [-1, 3601, float("inf")],
    "seats.opponent.early_stop": [1, "true"],
    "limits": [3, [3]],
    "limits.max_round": [3],
    "limits.max_rounds": ["3", 3.0, True, 0, -1, 10_001, 10**400, float("nan")],
    "limits.max_seconds": [0, "60", True, float("nan"), float("inf"), 10**400],
    "limits.max_total_tokens": [0, 1.5, 2**53 + 1],
    "limits.max_cost_usd": [0, -1, "1", float("-inf")],
    "titel": ["Cars"],
    "status": ["running"],
}


def with_field(path, value):
    """A good request but for this field."""
    body = new_debate()
    if path == "seats.opponent":
        body["seats"] = {"opponent": value}
    elif path.startswith("seats.opponent."):
        body["seats"] = {"opponent": {"player": "scripted", path.rpartition(".")[2]: value}}
    elif path.startswith(("seats.", "limits.")):
        inside = value
        for name in reversed(path.split(".")[1:]):
            inside = {name: inside}
        body[path.partition(".")[0]] = inside
    else:
        body[path] = value
    return body


@pytest.mark.parametrize(("field", "value"), each_of(WRONG_FIELDS))
def test_a_wrong_field_is_refused_by_its_name(api, module_place, field, value):
    with nothing_written(module_place):
        answer = post_raw(api, json.dumps(with_field(field, value)))
    error = refusal_of(answer, "INVALID_INPUT")
    assert error["message"].startswith(field)
    assert error["field"].startswith(field)


@pytest.mark.parametrize("field", ["title", "debate_type", "motion_content", "client_request_id"])
def test_a_missing_field_is_named(api, module_place, field):
    with nothing_written(module_place):
        answer = api.http.post("/debates", json=new_debate(**{field: None}))
    assert refusal_of(answer, "INVALID_INPUT")["message"] == f"{field}: is required"


def test_a_key_that_is_no_text_is_refused(api, module_place):
    with nothing_written(module_place):
        refusal_of(post_raw(api, json.dumps({**new_debate(), LONE_SURROGATE: 1})), "INVALID_INPUT")


@pytest.mark.parametrize(
    ("seat", "option"),
    [
        ({"player": "external", "persona": "A mayor"}, "persona"),
        ({"player": "external", "temperature": 1}, "temperature"),
        ({"player": "external", "max_tokens": 5}, "max_tokens"),
        ({"player": "external", "think_seconds": 1}, "think_seconds"),
        ({"player": "external", "early_stop": True}, "early_stop"),
        ({"player": "scripted", "agent_id": NO_SUCH_DEBATE}, "agent_id"),
    ],
)
@pytest.mark.parametrize("role", ["proposer", "arbitrator"])
def test_an_option_that_does_not_fit_the_player_is_refused(api, module_place, role, seat, option):
    with nothing_written(module_place):
        answer = api.http.post("/debates", json=new_debate(seats={role: seat}))
    refusal_of(answer, "INVALID_INPUT", f"seats.{role}", option, seat["player"])


def test_an_unknown_player_is_refused_with_the_known_ones(api):
    answer = api.http.post("/debates", json=new_debate(seats={"arbitrator": {"player": "gpt-99"}}))
    refusal_of(answer, "INVALID_INPUT", "seats.arbitrator.player", "gpt-99", "external", "scripted")


# Sizes


@pytest.mark.parametrize("content", ["x" * 10_241, "é" * 5_120 + "x", "日" * 3_414, "🙂" * 2_560 + "x"])
def test_more_than_10240_bytes_of_utf8_are_too_many(api, module_place, awaits_ruling, content):
    requests = [
        ("/debates", new_debate(motion_content=content), "motion_content"),
        ("/debates", new_debate(seats={"opponent": {"player": "scripted", "persona": content}}), "opponent.persona"),
        (
            f"/debates/{awaits_ruling}/ruling",
            {"content": "x", "verdict": {**VERDICT, "reasoning": content}},
            "verdict.reasoning",
        ),
        (f"/debates/{awaits_ruling}/stop", {"reason": content}, "reason"),
    ]
    for path, body, field in requests:
        with nothing_written(module_place):
            error = refusal_of(api.http.post(path, json=body), "CONTENT_TOO_LARGE", field, str(len(content.encode())))
        assert error["max_length"] == 10_240
        assert error["suggestion"] == f"Shorten {error['field']} to 10240 bytes of UTF-8 or less"


@pytest.mark.parametrize("content", ["x" * 10_240, "é" * 5_120, "\u0001" * 10_239 + "x"])
def test_10240_bytes_are_not_too_many_however_long_their_json_is(api, content):
    everything = new_debate(
        format="dialogue",
        motion_content=content,
        seats={
            "proposer": {"player": "scripted", "persona": content},
            "arbitrator": {"player": "scripted", "persona": content},
        },
    )
    debate_id = data_of(api.http.post("/debates", json=everything), 201)["debate"]["id"]
    said = data_of(api.http.post(f"/debates/{debate_id}/intervention", json={"content": content}), 201)
    assert said["argument"]["content"] == content
    ruling = {"content": content, "verdict": {**VERDICT, "reasoning": content}}
    ruled = data_of(api.http.post(f"/debates/{debate_id}/ruling", json=ruling), 201)
    assert (ruled["argument"]["content"], ruled["argument"]["verdict"]["reasoning"]) == (content, content)
    stopped = data_of(api.http.post(f"/debates/{debate_id}/stop", json={"reason": content}))
    assert stopped["debate"]["stop_note"] == content


@pytest.mark.parametrize("request_id", ["x" * 201, "é" * 101])
def test_a_client_request_id_has_at_most_200_bytes(api, module_place, request_id):
    with nothing_written(module_place):
        answer = api.http.post("/debates", json=new_debate(client_request_id=request_id))
    assert refusal_of(answer, "CONTENT_TOO_LARGE", "client_request_id")["max_length"] == 200


# The fields of the other requests

WRONG_ACTIONS = [
    ("/ruling", {"content": "x", "close": "true"}, "close"),
    ("/ruling", {"content": "x", "close": 1}, "close"),
    ("/ruling", {"content": "x", "close": []}, "close"),
    ("/ruling", {"content": "x", "closed": True}, "closed"),
    ("/intervention", {"close": True}, "close"),
    ("/stop", {"reason": ""}, "reason"),
    ("/stop", {"reason": "a\x00b"}, "reason"),
    ("/stop", {"reason": LONE_SURROGATE}, "reason"),
    ("/stop", {"reason": 5}, "reason"),
    ("/stop", {"why": "x"}, "why"),
]
WRONG_VERDICTS = {
    "": ["proposer", {}],
    "winner": [None, "arbitrator", "Tie", ""],
    "scores": [
        None,
        [5, 5],
        {"proposer": 5},
        {"proposer": 5, "opponent": 5, "arbitrator": 5},
        {"proposer": "5", "opponent": 5},
        {"proposer": True, "opponent": 5},
        {"proposer": -0.1, "opponent": 5},
        {"proposer": 5, "opponent": 10.1},
        {"proposer": float("nan"), "opponent": 5},
    ],
    "reasoning": [None, 5, "", "  ", "a\x00b", LONE_SURROGATE],
    "stop": ["yes", 1],
    "confidence": [1.1, -0.1, "sure"],
}


@pytest.mark.parametrize(("path", "body", "field"), WRONG_ACTIONS)
def test_a_wrong_field_of_an_action_is_refused_by_its_name(api, module_place, awaits_ruling, path, body, field):
    with nothing_written(module_place):
        answer = post_raw(api, json.dumps(body), f"/debates/{awaits_ruling}{path}")
    assert refusal_of(answer, "INVALID_INPUT")["message"].startswith(f"{field}: ")


@pytest.mark.parametrize(("field", "value"), each_of(WRONG_VERDICTS))
def test_a_wrong_verdict_is_refused_by_the_name_of_its_field(api, module_place, awaits_ruling, field, value):
    verdict = {**VERDICT, field: value} if field else value
    with nothing_written(module_place):
        body = json.dumps({"content": "x", "verdict": verdict})
        answer = post_raw(api, body, f"/debates/{awaits_ruling}/ruling")
    assert refusal_of(answer, "INVALID_INPUT")["message"].startswith(f"verdict.{field}".rstrip("."))


# The address

BAD_IDS = ["1", "not-a-uuid", NO_SUCH_DEBATE[:-1], NO_SUCH_DEBATE + "0", "%00", "%ff", "'; DROP TABLE debates; --"]


@pytest.mark.parametrize("bad_id", BAD_IDS)
@pytest.mark.parametrize(("method", "path"), EVERY_ENDPOINT)
def test_an_address_with_a_bad_uuid_is_refused(api, method, path, bad_id):
    answer = api.http.request(method, f"/debates/{bad_id}{path}", json=body_for(path))
    refusal_of(answer, "INVALID_INPUT", "debate_id: ", "UUID")


@pytest.mark.parametrize(("method", "path"), EVERY_ENDPOINT)
def test_an_unknown_debate_is_not_found_anywhere(api, module_place, method, path):
    with nothing_written(module_place):
        answer = api.http.request(method, f"/debates/{NO_SUCH_DEBATE}{path}", json=body_for(path))
    refusal_of(answer, "DEBATE_NOT_FOUND", NO_SUCH_DEBATE)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=abc", "limit"),
        ("limit=1.5", "limit"),
        ("offset=-1", "offset"),
        ("offset=abc", "offset"),
        ("offset=2147483648", "offset"),
        ("state=OPEN", "state"),
        ("state=closed", "state"),
        ("status=CLOSED", "status"),
        ("status=Running", "status"),
        ("debate_type=x", "debate_type"),
        ("format=x", "format"),
        ("pending_first_opponent=maybe", "pending_first_opponent"),
        ("q=a%00b", "q"),
        ("q=" + "x" * 201, "q"),
        ("stat=CLOSED", "stat"),
    ],
)
def test_a_bad_query_parameter_is_refused_by_its_name(api, query, field):
    assert refusal_of(api.http.get(f"/debates?{query}"), "INVALID_INPUT")["message"].startswith(f"{field}: ")


@pytest.mark.parametrize("limit", ["-1", "abc", "1.5", "2147483648"])
def test_a_bad_limit_of_a_transcript_is_refused(api, limit):
    debate_id = api.create()["id"]
    refusal_of(api.http.get(f"/debates/{debate_id}?limit={limit}"), "INVALID_INPUT", "limit: ")
