"""The five formats beside `rounds` and `dialogue`, and the judge's question, over HTTP."""

import pytest
from harness import new_debate, numbers
from test_api_envelope import data_of, nothing_written, refusal_of
from test_protocol_table import PEOPLE, after, motions, not_allowed, send

WITH_ROUNDS = ["rounds", "dialogue", "final_ruling", "simultaneous", "interactive", "consultancy"]
ASKING = ["interactive", "consultancy"]
PERSON, SCRIPTED = {"player": "external"}, {"player": "scripted"}
SPEECHES = {"interactive": ["argue as proposer", "argue as opponent"], "consultancy": ["argue as proposer"]}


def ask(api, debate_id, **changes):
    body = {"content": "And the buses?", "client_request_id": f"question-{next(numbers)}", **changes}
    return api.http.post(f"/debates/{debate_id}/question", json=body)


def action(api, debate_id, role):
    return data_of(api.http.get(f"/debates/{debate_id}/poll", params={"role": role}))["action"]


# Creation


@pytest.mark.parametrize("role", ["proposer", "opponent"])
def test_whoever_could_read_the_other_side_first_has_no_seat_in_a_simultaneous_debate(api, module_place, role):
    seats = {**dict.fromkeys(PEOPLE, SCRIPTED), role: PERSON}
    with nothing_written(module_place):
        answer = api.http.post("/debates", json=new_debate(format="simultaneous", seats=seats))
        error = refusal_of(answer, "INVALID_INPUT", f"seats.{role}.player")
    assert "must be a worker's player in a simultaneous debate" in error["message"]


def test_a_person_may_judge_a_simultaneous_debate(api):
    debate = api.create(format="simultaneous", seats={"arbitrator": PERSON})
    assert debate["seats"]["proposer"]["player"] == "scripted"


def test_a_direct_debate_has_no_rounds_to_limit(api, module_place):
    with nothing_written(module_place):
        answer = api.http.post("/debates", json=new_debate(format="direct", limits={"max_rounds": 3}))
        refusal_of(answer, "INVALID_INPUT", "limits.max_rounds")
    created = api.create(format="direct", seats=PEOPLE, limits={})
    assert (created["state"], created["limits"]["max_rounds"]) == ("AWAITING_ARBITRATOR", None)


@pytest.mark.parametrize("form", [form for form in WITH_ROUNDS if form != "dialogue"])
def test_a_debate_has_three_rounds_and_the_default_players_unless_it_says_otherwise(api, form):
    body = {name: value for name, value in new_debate(format=form).items() if name not in ("seats", "limits")}
    created = data_of(api.http.post("/debates", json=body), 201)["debate"]
    assert created["limits"]["max_rounds"] == 3
    assert {seat["player"] for seat in created["seats"].values()} == {"scripted"}


# The judge's question


@pytest.mark.parametrize("form", ASKING)
def test_the_judge_asks_between_the_rounds_and_rules_after_the_last(api, form):
    debate_id = after(api, form, SPEECHES[form], limits={"max_rounds": 2})
    assert (action(api, debate_id, "arbitrator"), action(api, debate_id, "proposer")) == ("ask", "wait_for_ruling")
    stored = data_of(ask(api, debate_id), 201)
    assert (stored["argument"]["type"], stored["argument"]["role"], stored["argument"]["round"]) == (
        "QUESTION",
        "arbitrator",
        1,
    )
    assert (stored["debate"]["state"], stored["debate"]["next_round"]) == ("AWAITING_PROPOSER", 2)
    assert (stored["debate"]["verdict"], stored["debate"]["standing"]) == (None, None)
    assert action(api, debate_id, "proposer") == "respond", "a question is not a ruling to align to"
    for speech in SPEECHES[form]:
        data_of(send(api, debate_id, speech), 201)
    assert action(api, debate_id, "arbitrator") == "rule"
    not_allowed(ask(api, debate_id), "AWAITING_ARBITRATOR", ["arbitrator"])
    verdict = {"winner": "opponent", "scores": {"proposer": 3, "opponent": 7}, "reasoning": "Nobody paid."}
    closed = data_of(send(api, debate_id, "rule", verdict=verdict), 201)["debate"]
    assert (closed["state"], closed["stop_reason"], closed["rounds_completed"]) == ("CLOSED", "max_rounds", 2)
    assert (closed["verdict"]["scope"], closed["verdict"]["winner"]) == ("debate", "opponent")


@pytest.mark.parametrize("form", ["rounds", "dialogue", "final_ruling"])
def test_where_the_judge_does_not_ask_a_question_is_refused(api, module_place, form):
    way = ["argue as opponent", "appeal"] if form == "dialogue" else ["appeal"]
    debate_id = after(api, form, way)
    with nothing_written(module_place):
        error = not_allowed(ask(api, debate_id), "AWAITING_ARBITRATOR", ["arbitrator"])
    assert "question" in error["message"]


def test_the_same_question_again_is_answered_with_what_was_stored(api, module_place):
    debate_id = after(api, "consultancy", ["argue as proposer"])
    first = data_of(ask(api, debate_id, client_request_id="q"), 201)
    with nothing_written(module_place):
        again = ask(api, debate_id, client_request_id="q")
        assert data_of(again)["argument"] == first["argument"]
        assert again.headers["Idempotent-Replayed"] == "true"
        refusal_of(ask(api, debate_id, client_request_id="q", content="Another?"), "REQUEST_ID_REUSED")


@pytest.mark.parametrize("content", ["", "  ", None, 3, "x" * 10_241])
def test_a_question_needs_words(api, module_place, content):
    debate_id = after(api, "consultancy", ["argue as proposer"])
    with nothing_written(module_place):
        answer = ask(api, debate_id, content=content)
        refusal_of(answer, "CONTENT_TOO_LARGE" if content == "x" * 10_241 else "INVALID_INPUT", "content")


# Whole debates


def test_a_debate_with_one_ruling_at_the_end(api):
    way = ["argue as proposer", "argue as opponent"] * 2
    debate_id = after(api, "final_ruling", way, limits={"max_rounds": 2})
    assert action(api, debate_id, "arbitrator") == "rule"
    closed = data_of(send(api, debate_id, "rule"), 201)["debate"]
    assert (closed["stop_reason"], closed["verdict"], closed["argument_count"]) == ("max_rounds", None, 6)


@pytest.mark.parametrize("close", [False, True])
def test_the_only_ruling_of_a_direct_debate_closes_it_and_may_be_repeated(api, module_place, close):
    created = data_of(api.http.post("/debates", json=new_debate(format="direct", seats=PEOPLE, limits={})), 201)
    debate_id = created["debate"]["id"]
    motions[debate_id] = created["argument"]["id"]
    assert (action(api, debate_id, "arbitrator"), action(api, debate_id, "opponent")) == ("rule", "wait_for_ruling")
    not_allowed(send(api, debate_id, "intervene"), "AWAITING_ARBITRATOR", ["arbitrator"])
    ruling = {"client_request_id": "the ruling", "close": close}
    closed = data_of(send(api, debate_id, "rule", **ruling), 201)["debate"]
    assert (closed["state"], closed["stop_reason"], closed["rounds_completed"]) == ("CLOSED", "ruling", 0)
    with nothing_written(module_place):
        assert send(api, debate_id, "rule", **ruling).status_code == 200


def test_the_opponent_of_a_consultancy_never_has_the_turn(api):
    debate_id = after(api, "consultancy", [])
    assert action(api, debate_id, "opponent") == "wait_for_proposer"
    not_allowed(send(api, debate_id, "argue as opponent"), "AWAITING_PROPOSER", ["proposer"])
    data_of(send(api, debate_id, "argue as proposer"), 201)
    not_allowed(send(api, debate_id, "argue as opponent"), "AWAITING_ARBITRATOR", ["arbitrator"])


@pytest.fixture(scope="module")
def held(api, module_place):
    """One debate of each format between workers' players, to its end."""
    module_place.start_worker()
    limits = {form: {"max_rounds": 2} for form in WITH_ROUNDS if form != "dialogue"}
    scripted = dict.fromkeys(PEOPLE, SCRIPTED)
    ids = {
        form: api.create(format=form, seats=scripted, limits=limits.get(form, {}))["id"]
        for form in [*WITH_ROUNDS, "direct"]
    }
    return {form: api.wait_closed(debate_id, 60) for form, debate_id in ids.items()}


P, O, J = "proposer", "opponent", "arbitrator"  # noqa: E741
ORDER = {
    "rounds": [(P, "CLAIM"), (O, "CLAIM"), (J, "RULING")] * 2,
    "final_ruling": [(P, "CLAIM"), (O, "CLAIM")] * 2 + [(J, "RULING")],
    "simultaneous": [(P, "CLAIM"), (O, "CLAIM")] * 2 + [(J, "RULING")],
    "interactive": [(P, "CLAIM"), (O, "CLAIM"), (J, "QUESTION"), (P, "CLAIM"), (O, "CLAIM"), (J, "RULING")],
    "consultancy": [(P, "CLAIM"), (J, "QUESTION"), (P, "CLAIM"), (J, "RULING")],
    "direct": [(J, "RULING")],
}


@pytest.mark.parametrize("form", ORDER)
def test_workers_hold_a_debate_of_every_format_to_its_verdict(held, form):
    debate, said = held[form]["debate"], held[form]["arguments"]
    assert [(argument["role"], argument["type"]) for argument in said] == ORDER[form]
    assert debate["status"] == "completed"
    assert debate["verdict"] == said[-1]["verdict"]
    assert debate["verdict"]["scope"] == "debate"
    proposer, opponent = (debate["verdict"]["scores"][side] for side in (P, O))
    leader = P if proposer > opponent else O if opponent > proposer else "tie"
    assert debate["verdict"]["winner"] == leader
    assert (debate["standing"] is not None) is (form == "rounds")
