"""What a submission, a poll and an export may say: wrong ones are refused by the name of the field, and write nothing.

Verdicts and the fields that an arbitrator alone sends are in test_api_errors.py.
"""

from itertools import product

import pytest
from test_api_envelope import NO_SUCH_DEBATE, data_of, nothing_written, refusal_of
from test_protocol_table import STATE_FOR, SUBMISSIONS, after, said_in, send, standing_in

LONE_SURROGATE = "a\ud800b"
AGENTS = ["argue as proposer", "appeal", "resolve"]
"""The agents' endpoints, by a submission that AWAITING_PROPOSER allows."""
NOT_UUIDS = ["", " ", "motion", "1", 1, True, [], {}, NO_SUCH_DEBATE[:-1], NO_SUCH_DEBATE + "0", "a\x00b"]


@pytest.fixture
def proposers_turn(api):
    """A dialogue with four arguments, and the proposer has the floor."""
    return after(api, "dialogue", ["argue as opponent", "argue as proposer", "argue as opponent"])


@pytest.fixture(scope="module")
def standing(api):
    """One debate for all that is refused anyway."""
    return after(api, "dialogue", ["argue as opponent"])


# target_id


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("submission", AGENTS)
def test_any_argument_of_the_debate_may_be_answered_and_becomes_the_parent(api, proposers_turn, submission, position):
    target = said_in(api, proposers_turn)[position]["id"]

    stored = data_of(send(api, proposers_turn, submission, target_id=target), 201)["argument"]

    assert stored["parent_id"] == target
    assert said_in(api, proposers_turn)[4] == stored


def test_a_target_is_found_however_its_uuid_is_spelt(api, proposers_turn):
    target = said_in(api, proposers_turn)[1]["id"]
    stored = data_of(send(api, proposers_turn, "appeal", target_id=target.upper()), 201)["argument"]
    assert stored["parent_id"] == target


@pytest.mark.parametrize("submission", AGENTS)
def test_a_target_in_another_debate_is_refused(api, module_place, standing, submission):
    elsewhere = said_in(api, api.create()["id"])[0]["id"]
    with nothing_written(module_place):
        answer = send(api, standing, submission, target_id=elsewhere)
    refusal_of(answer, "INVALID_INPUT", "target_id: ", "another debate")


@pytest.mark.parametrize("submission", AGENTS)
@pytest.mark.parametrize("nobody", ["an id of nothing", "the debate's own id"])
def test_a_target_in_no_debate_is_not_found(api, module_place, standing, submission, nobody):
    target = NO_SUCH_DEBATE if nobody == "an id of nothing" else standing
    with nothing_written(module_place):
        refusal_of(send(api, standing, submission, target_id=target), "ARGUMENT_NOT_FOUND", target)


@pytest.mark.parametrize("submission", ["rule", "intervene"])
def test_the_arbitrator_names_no_target_and_answers_the_last_argument(api, submission):
    debate_id = standing_in(api, STATE_FOR[submission], "dialogue")
    last = said_in(api, debate_id)[-1]["id"]
    refusal_of(send(api, debate_id, submission, target_id=last), "INVALID_INPUT", "target_id: is not a known field")
    assert data_of(send(api, debate_id, submission), 201)["argument"]["parent_id"] == last


# Any field

MISSING = [("argue as proposer", "role"), ("rule", "content")]
MISSING += product(AGENTS, ("target_id", "content", "client_request_id"))
UNKNOWN = {
    "argue as proposer": ("verdict", "close", "round", "debate_id"),
    "appeal": ("role", "close"),
    "resolve": ("role", "verdict"),
    "rule": ("role",),
    "intervene": ("role",),
}
ROLES = [None, "", "arbitrator", "judge", "debater_a", "Proposer", "proposer ", 1, []]
WRONG_TEXTS = [None, 5, True, ["x"], {}, "", " \t\n", "\u3000", "a\x00b", "\x00", LONE_SURROGATE]
MAY_BE_NULL = {("rule", "client_request_id"), ("intervene", "content"), ("intervene", "client_request_id")}
TEXTS_OF = product([*AGENTS, "rule", "intervene"], ("content", "client_request_id"), WRONG_TEXTS)


@pytest.mark.parametrize(
    ("submission", "field", "value", "words"),
    [
        *((*case, ..., "is required") for case in MISSING),
        *((name, field, "proposer", "is not a known field") for name, fields in UNKNOWN.items() for field in fields),
        *(("argue as proposer", "role", role, "") for role in ROLES),
        *((submission, "target_id", target, "") for submission, target in product(AGENTS, NOT_UUIDS)),
        *((*case, "") for case in TEXTS_OF if case[2] is not None or case[:2] not in MAY_BE_NULL),
    ],
    ids=repr,
)
def test_a_wrong_field_is_refused_by_its_name(api, module_place, standing, submission, field, value, words):
    with nothing_written(module_place):
        error = refusal_of(send(api, standing, submission, **{field: value}), "INVALID_INPUT")
    assert (error["field"], error["message"].startswith(f"{field}: {words}")) == (field, True)


# Sizes


@pytest.mark.parametrize(
    "content", ["x" * 10_240, "é" * 5_120, "日" * 3_413 + "x", "🙂" * 2_560], ids=lambda text: text[0]
)
@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_10240_bytes_are_taken_and_come_back_as_they_were(api, submission, content):
    debate_id = standing_in(api, STATE_FOR[submission], "dialogue")
    stored = data_of(send(api, debate_id, submission, content=content), 201)["argument"]
    assert stored["content"] == content
    assert stored in said_in(api, debate_id)


@pytest.mark.parametrize(
    "content", ["x" * 10_241, "é" * 5_121, "日" * 3_414, "🙂" * 2_560 + "x"], ids=lambda text: text[0]
)
@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_one_byte_more_is_too_large_in_any_state(api, module_place, standing, submission, content):
    with nothing_written(module_place):
        answer = send(api, standing, submission, content=content)
    error = refusal_of(answer, "CONTENT_TOO_LARGE", "content: ", str(len(content.encode())))
    assert error["max_length"] == 10_240


@pytest.mark.parametrize("request_id", ["x" * 200, "é" * 100])
@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_a_request_id_of_200_bytes_is_taken_and_one_more_is_not(api, module_place, standing, submission, request_id):
    debate_id = standing_in(api, STATE_FOR[submission], "dialogue")
    with nothing_written(module_place):
        error = refusal_of(send(api, standing, submission, client_request_id=request_id + "x"), "CONTENT_TOO_LARGE")
    assert error["max_length"] == 200
    stored = data_of(send(api, debate_id, submission, client_request_id=request_id), 201)["argument"]
    assert stored["client_request_id"] == request_id


# Poll


def poll(api, debate_id, query):
    return api.http.get(f"/debates/{debate_id}/poll?{query}")


@pytest.mark.parametrize("query", ["", "role=", "role=judge", "role=debater_a", "role=Proposer", "role=proposer%20"])
def test_a_poll_comes_from_one_of_the_three_seats(api, standing, query):
    words = "role: is required" if query in ("", "role=") else "role: "
    refusal_of(poll(api, standing, query), "INVALID_INPUT", words)


@pytest.mark.parametrize("seen", ["1", "motion", "%20", "null", NO_SUCH_DEBATE[:-1], "a%00b", "%ff"])
def test_a_last_seen_argument_that_is_no_uuid_is_refused(api, standing, seen):
    refusal_of(poll(api, standing, f"role=proposer&argument_id={seen}"), "INVALID_INPUT", "argument_id: ")


def test_a_last_seen_argument_of_no_debate_or_of_another_is_refused(api, standing):
    elsewhere = said_in(api, api.create()["id"])[0]["id"]
    for seen in (NO_SUCH_DEBATE, elsewhere, standing):
        refusal_of(poll(api, standing, f"role=opponent&argument_id={seen}"), "INVALID_INPUT", "argument_id: ")


def test_an_unknown_query_parameter_is_refused(api, standing):
    refusal_of(poll(api, standing, "role=proposer&after=1"), "INVALID_INPUT", "after: ")
