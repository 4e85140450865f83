"""What others judge of an experiment's debates is kept, and counts in nothing: its results, its budget and its status
are those of the judges of its spec and of the people who were invited."""

import random
from functools import partial
from uuid import UUID

import pytest
from access_matrix import TOKEN, a_world, operations
from callers import an_agent
from experiment_steps import a_spec, debate_ids, hold_by_models, hold_until, made, status_is
from model_server import ModelServer

from app.core.access import OPERATOR, GuestJudge
from app.core.errors import Conflict, InvalidInput
from app.core.judgments import MOST_BY_HAND, Judge
from app.core.players import JudgeOrder, SeatSetup
from app.core.verdicts import Verdict
from app.store.experiments.reading import MatchFilters
from app.usecases import judgments
from app.usecases.experiments import judging, manage, read
from app.usecases.experiments.results import exported, results_of_experiment

SCRIPT = Judge("script", SeatSetup("scripted"), JudgeOrder.BOTH)
GPT = Judge("gpt", SeatSetup("openai:gpt-4o"), JudgeOrder.BOTH, repeats=3)
AGAINST = Verdict("opponent", {"proposer": 0, "opponent": 10}, "Turned around.")
pytestmark = pytest.mark.timeout(300)


def held(services, place, count=2, **changes):
    """An experiment that was completed, and its debates."""
    experiment_id = made(services, count, **changes)
    hold_until(services, status_is(place, "completed"))
    return experiment_id, debate_ids(place)


def what_counts(services, experiment_id):
    """All that a stranger must not change."""
    shown = read.show(services, experiment_id)
    one = shown.experiment
    figures = {**results_of_experiment(services, experiment_id), "other_judgments": None}
    rows = [row for page in exported(services, experiment_id, "judgments") for row in page]
    matches, _ = read.matches(services, experiment_id, MatchFilters(), None, 100)
    facts = (one.status, one.stated, one.spent_usd, one.reserved_usd, one.budget_usd, one.created_by)
    return facts, shown.progress, figures, rows, matches


def no_judgment_waits(place):
    return lambda: place.sql("SELECT count(*) FROM judgments WHERE status = 'planned'") == [(0,)]


def test_a_strangers_judgments_are_kept_and_count_in_nothing(services, place):
    experiment_id, debates = held(services, place, budget_usd=5.0)
    before = what_counts(services, experiment_id)
    stranger = an_agent(services, "stranger")
    for debate_id in debates:
        assert judgments.give(services, stranger, debate_id, None, JudgeOrder.AS_SPOKEN, AGAINST)[1]
        assert judgments.ask(services, stranger, debate_id, GPT).new == 6
        assert judgments.ask(services, stranger, debate_id, SCRIPT).new == 2, "a name of the spec is not taken"
    with ModelServer() as models:
        hold_by_models(services, models, no_judgment_waits(place))
    assert what_counts(services, experiment_id) == before
    assert results_of_experiment(services, experiment_id)["other_judgments"] == 9 * len(debates)
    assert place.sql("SELECT sum(cost_usd) > 0 FROM judgments WHERE experiment_id IS NULL") == [(True,)]
    of_first = [one.experiment_id for one in judgments.of_debate(services, debates[0])]
    assert (of_first.count(None), of_first.count(experiment_id)) == (9, 2)


def test_a_name_that_a_stranger_has_used_is_free_for_the_owner(services, place):
    experiment_id, debates = held(services, place)
    other = Judge("other", SeatSetup("scripted"))
    assert judgments.ask(services, an_agent(services, "stranger"), debates[0], other).new == 1
    spec = {"name": "other", "player": "scripted"}
    assert manage.add_judges(services, OPERATOR, experiment_id, [spec])[1] == len(debates)


def test_the_owner_and_the_operator_ask_judges_of_the_spec_by_hand_and_others_beside_it(services, place):
    owner = an_agent(services, "owner")
    experiment_id, [debate_id, _] = held(services, place, 1, caller=owner)
    again = Judge("script", SeatSetup("scripted"), JudgeOrder.BOTH, repeats=2)
    for caller, new in ((owner, 2), (OPERATOR, 0)):
        found = judgments.ask(services, caller, debate_id, again)
        assert (found.new, {one.experiment_id for one in found.judgments}) == (new, {experiment_id})
    with pytest.raises(Conflict):
        judgments.ask(services, owner, debate_id, Judge("script", SeatSetup("scripted", noise=0.5)))
    [by_hand] = judgments.ask(services, owner, debate_id, Judge("by hand", SeatSetup("scripted"))).judgments
    assert by_hand.experiment_id is None


def test_people_who_were_invited_count_and_an_agent_does_not(services, place):
    experiment_id, debates = held(services, place)
    invited = judging.invite(services, OPERATOR, experiment_id, "ana", None)
    guest, _ = judging.accept(services, invited.token)
    assert isinstance(guest, GuestJudge)
    give = partial(judgments.give, services, debate_id=debates[0], order=JudgeOrder.AS_SPOKEN, verdict=AGAINST)
    assert give(caller=guest, name=None)[0].experiment_id == experiment_id
    assert give(caller=an_agent(services, "ana"), name=None)[0].experiment_id is None
    names = [row["judge"] for row in results_of_experiment(services, experiment_id)["judges"]]
    assert names == ["person:ana", "script"]


def test_judgments_by_hand_of_one_debate_are_limited(services, place):
    _, debates = held(services, place, 1)
    stranger = an_agent(services, "stranger")
    for number in range(MOST_BY_HAND // 100):
        judgments.ask(services, stranger, debates[0], Judge(f"n{number}", SeatSetup("scripted"), repeats=100))
    with pytest.raises(Conflict, match="at most 1,000 requested judgments"):
        judgments.ask(services, stranger, debates[0], Judge("one more", SeatSetup("scripted")))
    with pytest.raises(Conflict):
        judgments.give(services, stranger, debates[0], None, JudgeOrder.AS_SPOKEN, AGAINST)
    assert judgments.ask(services, OPERATOR, debates[0], SCRIPT).new == 0, "it counts"
    assert place.sql("SELECT count(*) FROM judgments WHERE experiment_id IS NULL") == [(MOST_BY_HAND,)]
    assert judgments.ask(services, OPERATOR, debates[0], Judge("mine", SeatSetup("scripted"))).new == 1


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://e.org")', "+1", "-1", "@x", " =1", "a\nb", "a\u202eb", "a\x1b[2J", "\u200b"]
)
def test_names_of_judges_are_printable_and_no_formulas(services, place, name):
    with pytest.raises(InvalidInput):
        manage.draft(services, OPERATOR, a_spec(judges=[{"name": f"{name}", "player": "scripted"}]))
    with pytest.raises(InvalidInput):
        judgments._check_judge(services, Judge(name, SeatSetup("scripted")))
    with pytest.raises(InvalidInput):
        judging.named(name)
    with pytest.raises(InvalidInput):
        judgments.give(services, OPERATOR, UUID(int=1), name, JudgeOrder.AS_SPOKEN, AGAINST)


@pytest.fixture
def world(place):
    with a_world(place.settings.with_changes(auth_token=TOKEN, rate_limit="off")) as made:
        yield made


def test_pages_show_others_judgments_apart(world, place):
    experiment_id, debates = held(world.services, place)
    asked = world.ask("stranger", "POST /debates/{debate_id}/judgments", {"debate_id": debates[0], "judge": "script"})
    [judgment, *_] = asked.json["data"]["judgments"]
    assert (asked.status_code, judgment["experiment_id"]) == (201, None)
    judgments.give(world.services, an_agent(world.services, "eve"), debates[0], None, JudgeOrder.AS_SPOKEN, AGAINST)
    headers = {**world.headers("session", debates[0]), "Host": "localhost", "Accept": "text/html"}
    page = world.client.get(f"/experiments/{experiment_id}/view", headers=headers).text
    assert "1 judgment by judges that are neither in the spec nor invited: stored, but not counted." in page
    assert "agent:eve" not in page
    pair = world.client.get(f"/experiments/{experiment_id}/pair/{debates[0]}", headers=headers).text
    assert pair.count("not in the results") == pair.count("agent:eve") + 2
    listed = world.ask("stranger", "GET /debates/{debate_id}/judgments", {"debate_id": debates[0]}).json
    counting = [one["experiment_id"] for one in listed["data"]["judgments"]]
    assert counting.count(str(experiment_id)) == 2
    assert counting.count(None) == 3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_that_a_stranger_sends_changes_an_experiment(world, place, seed):
    """Whatever its scopes: with the ids of the experiment and its debates in hand, and the names that it uses."""
    experiment_id, debates = held(world.services, place, budget_usd=5.0)
    before = what_counts(world.services, experiment_id)
    draw = random.Random(seed)
    writes = [one for one in operations(world.document) if not one.startswith("GET") and one != "POST /mcp"]
    writes += ["POST /debates/{debate_id}/judgments"] * len(writes)
    answered = set()
    for _ in range(300):
        given = {
            "experiment_id": str(experiment_id),
            "debate_id": str(draw.choice(debates)),
            "role": draw.choice(["proposer", "opponent", "arbitrator"]),
            "name": draw.choice(["demo", "ana", "script"]),
            "judge": draw.choice(["script", "ana", f"n{draw.randrange(5)}"]),
            "judges": [{"name": draw.choice(["script", "new"]), "player": "scripted", "repeats": draw.randint(1, 9)}],
            "budget_usd": 100,
            **draw.choice(
                [
                    {"player": draw.choice(["scripted", "local"]), "orders": draw.choice(["both", "swapped"])},
                    {"player": "", "verdict": {"winner": "opponent"}, "judge": None},
                ]
            ),
        }
        caller, operation = draw.choice(["debater", "mute", "referee", "stranger"]), draw.choice(writes)
        answer = world.ask(caller, operation, given)
        assert answer.status_code < 500, (caller, operation, given, answer.text)
        answered |= {operation} if answer.status_code < 300 else set()
    assert "POST /debates/{debate_id}/judgments" in answered
    hold_until(world.services, no_judgment_waits(place))
    assert what_counts(world.services, experiment_id) == before
    assert results_of_experiment(world.services, experiment_id)["other_judgments"] > 0
