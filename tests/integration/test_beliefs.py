"""Judgments of the beginning of a debate: what their judges are shown, and what becomes of them in an experiment."""

import asyncio
import json
from collections import Counter

import pytest
from callers import an_agent
from claimed_debates import until
from experiment_steps import completed_over_http, hold_until, made, started_over_http, status_is
from harness import new_debate
from test_judgments import Judges, judge_until, settled
from worker_loop import PATIENCE_SECONDS, live_runner, with_settings

from app.cli.experiment.source import judgments_of_file
from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.errors import Conflict, InvalidInput
from app.core.judgments import Judge
from app.core.players import JudgeOrder, SeatSetup
from app.core.schedules import BUILT_IN
from app.core.verdicts import Verdict
from app.http.requests import CreateDebateBody
from app.statistics.results import results as computed
from app.store.experiments.reading import MatchFilters
from app.usecases import judgments
from app.usecases.create import create_debate
from app.usecases.experiments import manage, read

SCRIPTED = SeatSetup("scripted")
WON = Verdict("proposer", {"proposer": 7, "opponent": 4}, "It answered.", confidence=0.9)
BELIEVES = {"name": "script", "player": "scripted", "orders": "both", "repeats": 2, "beliefs": True}
pytestmark = pytest.mark.timeout(300)


def _new(body):
    return CreateDebateBody.model_validate(body).new_debate(BUILT_IN[body["format"]])


def held(services, place, format_name="interactive", rounds=3):
    """The id of a debate that was held to its end."""
    body = new_debate(format=format_name, limits={"max_rounds": rounds})
    debate_id = create_debate(services, OPERATOR, _new(body)).debate.id

    async def work():
        async with live_runner(with_settings(services)):
            ended = "SELECT status = 'completed' FROM debates"
            await until(lambda: place.sql(ended) == [(True,)], PATIENCE_SECONDS, "the debate is held")

    asyncio.run(work())
    return debate_id


def rounded(figures):
    """Sums depend on the order of the rows in their last digits."""
    return json.loads(json.dumps(figures), parse_float=lambda digits: round(float(digits), 9))


@pytest.mark.parametrize("format_name", ["interactive", "rounds", "consultancy"])
def test_a_judge_of_the_beginning_is_shown_no_later_turn_and_rules(services, place, format_name):
    debate_id = held(services, place, format_name)
    asked = judgments.ask(services, OPERATOR, debate_id, Judge("script", SCRIPTED, JudgeOrder.BOTH, 2, beliefs=True))
    orders = 1 if format_name == "consultancy" else 2
    assert asked.new == 4 * 2 * orders
    judge = Judges(WON)
    judge_until(services, settled(place), judge)
    assert len(judge.briefs) == asked.new
    for brief in judge.briefs:
        through = brief.judgment.through_round
        last = 3 if through is None else through
        assert {turn.round for turn in brief.recent} == set(range(1, last + 1))
        assert TurnType.RULING not in {turn.type for turn in brief.recent}
        assert brief.rules
        assert brief.debate.ruling_closes
        assert (brief.debate.verdict, brief.debate.standing) == (None, None)
    again = judgments.ask(services, OPERATOR, debate_id, Judge("script", SCRIPTED, JudgeOrder.BOTH, 2, beliefs=True))
    assert (again.new, len(again.judgments)) == (0, asked.new)


def test_one_beginning_is_judged_by_a_worker_a_person_and_an_agent(services, place):
    debate_id = held(services, place, rounds=5)
    one = judgments.ask(services, OPERATOR, debate_id, Judge("script", SCRIPTED, through_round=0)).judgments
    assert [each.key.through_round for each in one] == [0]
    assert judgments.ask(services, OPERATOR, debate_id, Judge("script", SCRIPTED)).new == 1
    for caller in (OPERATOR, an_agent(services, "ana")):
        for through_round in (0, 1, 3, None):
            given = judgments.give(services, caller, debate_id, None, JudgeOrder.AS_SPOKEN, WON, through_round)
            assert given[1]
    for asking in (
        lambda: judgments.ask(services, OPERATOR, debate_id, Judge("script", SCRIPTED, through_round=6)),
        lambda: judgments.give(services, OPERATOR, debate_id, None, JudgeOrder.SWAPPED, WON, 6),
    ):
        with pytest.raises(InvalidInput, match="through_round"):
            asking()
    many = Judge("many", SCRIPTED, JudgeOrder.BOTH, 100, beliefs=True)
    before = place.sql("SELECT count(*) FROM judgments")
    with pytest.raises(Conflict, match="at most 1,000"):
        judgments.ask(services, an_agent(services, "ben"), debate_id, many)
    assert place.sql("SELECT count(*) FROM judgments") == before
    assert judgments.ask(services, OPERATOR, debate_id, many).new == 1200, "six parts in two orders"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"player": "scripted", "beliefs": True, "through_round": 1}, "beliefs"),
        ({"verdict": {"winner": "tie"}, "beliefs": True}, "beliefs"),
        ({"player": "scripted", "through_round": -1}, "through_round"),
        ({"player": "scripted", "through_round": 1.5}, "through_round"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(api, more, words):
    made_ = api.http.post("/debates", json=new_debate()).json()["data"]["debate"]
    answer = api.http.post(f"/debates/{made_['id']}/judgments", json=more)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert words in answer.text


def test_an_experiments_beliefs_are_planned_estimated_counted_and_the_same_offline(api, module_place, tmp_path):
    rounds, orders, repeats = 3, 2, 2
    at = started_over_http(api.http.request, 2, rounds=rounds, judges=[BELIEVES])
    planned = api.http.get(f"{at}/plan").json()["data"]["plan"]
    assert planned["judgments"] == planned["matches"] * (rounds + 1) * orders * repeats
    at = completed_over_http(api.http.request, module_place, 2, rounds=rounds, judges=[BELIEVES], name="believed")
    experiment = api.http.get(at).json()["data"]["experiment"]
    assert experiment["progress"]["judgments"]["completed"] == planned["judgments"]
    found = api.http.get(f"{at}/results").json()["data"]["results"]
    assert found["rests_on"]["judgments"] == planned["judgments"] / (rounds + 1), "ratings use whole judgments only"
    assert {row["round"] for row in found["beliefs"]} == {0, 1, 2, 3}
    matches = api.http.get(f"{at}/matches").json()["data"]["matches"]
    assert all(match["wins"] + match["ties"] + match["losses"] == orders * repeats for match in matches)
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(api.http.get(f"{at}/export", params={"format": "jsonl"}).content)
    offline = computed(judgments_of_file(file))
    for part in ("ratings", "arms", "beliefs", "swing"):
        assert rounded(offline[part]) == rounded(found[part]), part
    for asked in ({"outcome": "margin"}, {"control": "length"}, {"outcome": "margin", "control": "length"}):
        found = api.http.get(f"{at}/results", params=asked).json()["data"]["results"]
        assert {name: found["rests_on"][name] for name in asked} == asked
        offline = computed(judgments_of_file(file), **asked)
        assert rounded(offline["ratings"]) == rounded(found["ratings"])
        assert rounded(offline["judges"]) == rounded(found["judges"])
    assert {row["proposer_words"] > 0 < row["opponent_words"] for row in map(json.loads, file.open())} == {True}
    assert api.http.get(f"{at}/results", params={"outcome": "luck"}).status_code == 400
    by_round = Counter(row.through_round for row in judgments_of_file(file))
    assert set(by_round) == {None, 0, 1, 2}
    assert len(set(by_round.values())) == 1


def test_only_the_contrasts_of_the_spec_are_shown(api, module_place):
    arms = {name: {"format": "final_ruling", "rounds": 1} for name in ("a", "b", "c")}
    contrasts = [["c", "a"], ["a", "b"]]
    rules = {"arms": arms, "format": None, "rounds": None, "name": "contrasted"}
    at = completed_over_http(api.http.request, module_place, 2, contrasts=contrasts, **rules)
    found = api.http.get(f"{at}/results").json()["data"]["results"]
    assert [row["arms"] for row in found["differences"]] == [pair for pair in contrasts for _ in range(2)]


def test_a_judge_with_beliefs_that_is_added_later_judges_what_was_held(services, place):
    experiment_id = made(services, 2, rounds=2)
    hold_until(services, status_is(place, "completed"))
    before = place.sql("SELECT count(*) FROM judgments")[0][0]
    _, count = manage.add_judges(services, OPERATOR, experiment_id, [{**BELIEVES, "name": "late", "repeats": 1}])
    matches, _ = read.matches(services, experiment_id, MatchFilters(), None, 100)
    assert count == len(matches) * 3 * 2
    hold_until(services, status_is(place, "completed"))
    after = place.sql("SELECT through_round, count(*) FROM judgments GROUP BY 1 ORDER BY 1 NULLS FIRST")
    assert after == [(None, before + count // 3), (0, count // 3), (1, count // 3)]
