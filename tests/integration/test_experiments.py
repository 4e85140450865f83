"""An experiment is planned once, fed, judged, extended and stopped; nothing is held twice and nothing is lost."""

from dataclasses import replace

import pytest
from experiment_steps import a_spec, counts, debate_ids, drafted, hold_until, made, motions, status_is

from app.core.access import OPERATOR
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.experiments.motions import motion_of
from app.core.retry import PlayerError
from app.store.experiments import costs
from app.store.experiments.costs import BudgetRefused
from app.store.ids import new_id
from app.usecases import control
from app.usecases.experiments import feed, manage
from app.usecases.experiments.results import exported, results_of_experiment


def hold(services, place):
    hold_until(services, status_is(place, "completed"))


def test_every_match_is_held_once_and_judged_by_every_judge_in_every_order(services, place):
    made(services, 3)
    hold(services, place)
    assert counts(place) == {"completed": 6}
    assert counts(place, "debates") == {"completed": 6}
    assert counts(place, "judgments") == {"completed": 12}
    assert place.sql("SELECT count(DISTINCT debate_id) FROM matches") == [(6,)]
    assert place.sql("SELECT count(*) FROM debates WHERE experiment_id IS NULL") == [(0,)]


def test_a_motion_a_contestant_a_judge_and_a_repeat_more_are_exactly_what_is_held(services, place):
    experiment_id = made(services, 1, concurrency=24)
    hold(services, place)
    first = set(debate_ids(place))
    more = a_spec(
        contestants=[*a_spec()["contestants"], {"name": "third", "player": "scripted", "skill": 0}],
        judges=[*a_spec()["judges"], {"name": "other", "player": "scripted"}],
        repeats=2,
        concurrency=24,
    )
    manage.draft(services, OPERATOR, more)
    assert manage.add_motions(services, OPERATOR, experiment_id, motions(2)) == (1, 2)
    manage.start(services, OPERATOR, experiment_id)
    # 2 motions, 3 pairs, 2 sides, 2 repeats; each judged twice by one judge and once by the other.
    assert counts(place) == {"completed": 2, "planned": 22}
    hold(services, place)
    assert counts(place) == {"completed": 24}
    assert counts(place, "judgments") == {"completed": 24 * 3}
    assert first < set(debate_ids(place))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "simultaneous"},
        {"rounds": 2},
        {"seed": 8},
        {"swap_sides": False},
        {"language": "German"},
        {"contestants": [a_spec()["contestants"][0], {"name": "new", "player": "scripted"}]},
        {"contestants": [{"name": "strong", "player": "scripted", "skill": 2}, a_spec()["contestants"][1]]},
        {"judges": [{"name": "script", "player": "scripted", "noise": 0.5}]},
    ],
)
def test_a_change_that_would_mix_two_experiments_is_refused_with_words(services, place, change):
    made(services, 1)
    before = place.sql("SELECT spec, updated_at FROM experiments")
    with pytest.raises(Conflict) as refused:
        manage.draft(services, OPERATOR, a_spec(**change))
    assert refused.value.message.partition(":")[0] == next(iter(change)) == refused.value.context["field"]
    assert place.sql("SELECT spec, updated_at FROM experiments") == before


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"contestants": [{"name": "a", "player": "scripted"}] * 2}, "contestants.1"),
        ({"contestants": [{"name": "a", "player": "nobody"}]}, "contestants.0.player"),
        ({"contestants": a_spec()["contestants"][:1]}, "contestants"),
        ({"pairing": [["strong", "nobody"]]}, "pairing.0.1"),
        ({"format": "dialogue"}, "format"),
        ({"format": "direct", "rounds": 3}, "rounds"),
        ({"repeats": 0}, "repeats"),
        ({"concurrency": 0}, "concurrency"),
        ({"budget_usd": 0}, "budget_usd"),
        ({"judges": [{"name": "j", "player": "scripted", "orders": "all"}]}, "judges.0.orders"),
        ({"judges": [{"name": "person:j", "player": "scripted"}]}, "judges"),
        ({"budget_usd": 1, "judges": [{"player": "openai:nobody-knows-this"}]}, "judges.0.player"),
        ({"prompts": "of nobody"}, "prompts"),
        ({"motions": "motions.jsonl"}, "motions"),
        ({"motions": {"m1": "One."}}, "motions"),
        ({"motions": [{"id": "m1"}]}, "motions.1"),
        ({"motions": ["One.", {"id": "m2", "motion": "Two.", "colour": "red"}]}, "motions.2"),
        ({"motions": [{"id": "m1", "motion": "One."}, {"id": "m1", "motion": "Two."}]}, "motions.2: id"),
        ({"motions": [f"Motion {n}." for n in range(1001)]}, "motions"),
    ],
)
def test_a_mistake_is_refused_with_its_field_and_nothing_is_made(services, place, change, field):
    with pytest.raises(InvalidInput) as refused:
        manage.draft(services, OPERATOR, a_spec(**change))
    assert refused.value.context["field"] == field
    assert place.sql("SELECT count(*) FROM experiments") == [(0,)]


def test_a_motion_with_the_id_of_another_is_refused_and_none_is_stored(services, place):
    experiment_id = drafted(services, 1)
    changed = [*motions(1, first=2), replace(motions(1)[0], motion="Other words.")]
    with pytest.raises(Conflict):
        manage.add_motions(services, OPERATOR, experiment_id, changed)
    with pytest.raises(InvalidInput):
        manage.add_motions(services, OPERATOR, experiment_id, [*motions(1, 9), replace(motions(1, 9)[0], motion="x")])
    assert place.sql("SELECT count(*) FROM motions") == [(1,)]


def test_no_more_than_its_concurrency_is_under_way_and_pairs_stay_together(services, place):
    experiment_id = made(services, 5, concurrency=4)
    assert feed.feed_experiment(services, experiment_id).made == 4
    assert feed.feed_experiment(services, experiment_id).made == 0
    assert counts(place) == {"running": 4, "planned": 6}
    rows = place.sql("SELECT motion_id, count(*) FROM matches WHERE status = 'running' GROUP BY motion_id")
    assert [count for _, count in rows] == [2, 2]


def test_a_paused_experiment_makes_no_debates_and_finishes_those_under_way(services, place):
    experiment_id = made(services, 5)
    feed.feed_experiment(services, experiment_id)
    manage.pause(services, OPERATOR, experiment_id)
    hold_until(services, lambda: counts(place, "judgments") == {"completed": 8})
    assert counts(place) == {"completed": 4, "planned": 6}
    manage.start(services, OPERATOR, experiment_id)
    hold(services, place)
    assert counts(place) == {"completed": 10}


def test_a_stopped_experiment_holds_its_debates_and_judgments_and_goes_on_where_it_was(services, place):
    experiment_id = made(services, 4)
    feed.feed_experiment(services, experiment_id)
    manage.stop(services, OPERATOR, experiment_id)
    assert counts(place, "debates") == {"paused": 4}
    assert feed.feed_experiment(services, experiment_id) == feed.NOTHING
    assert place.sql("SELECT status, stop_reason FROM experiments") == [("stopped", "manual_stop")]
    before = set(debate_ids(place)) - {None}
    manage.start(services, OPERATOR, experiment_id)
    hold(services, place)
    assert before < set(debate_ids(place))
    assert counts(place, "judgments") == {"completed": 16}


def test_a_refusal_by_a_budget_that_was_raised_since_stops_nothing(services, place):
    experiment_id = made(services, 1, budget_usd=1)
    with services.engine.begin() as connection:
        refused = costs.reserve(connection, new_id(), experiment_id, "worker", 2)
    assert refused == BudgetRefused(is_spent=True, budget_usd=1)
    manage.draft(services, OPERATOR, a_spec(budget_usd=50))
    manage.stop_for_budget(services, experiment_id, refused.budget_usd)
    assert place.sql("SELECT status, stop_reason FROM experiments") == [("running", None)]
    manage.stop_for_budget(services, experiment_id, 50)
    assert place.sql("SELECT status, stop_reason FROM experiments") == [("stopped", "budget")]


def test_a_failed_match_is_kept_apart_and_tried_again_with_its_own_debate(services, place):
    class Fails:
        async def think(self, _brief):
            raise PlayerError("Out of order.", permanent=True)

    experiment_id = made(services, 1)
    hold_until(services, status_is(place, "completed"), lambda _: Fails())
    assert counts(place) == {"failed": 2}
    assert place.sql("SELECT DISTINCT reason FROM matches") == [("Out of order.",)]
    assert counts(place, "judgments") == {}
    costs = results_of_experiment(services, experiment_id)["costs"]
    assert {row["contestant"]: row["failures"] for row in costs["contestants"]} == {
        "strong": {"player": 1},
        "weak": {"player": 1},
    }
    before = debate_ids(place)
    _, count = manage.retry_failed(services, OPERATOR, experiment_id)
    assert count == 2
    hold(services, place)
    assert (counts(place), debate_ids(place)) == ({"completed": 2}, before)
    assert counts(place, "judgments") == {"completed": 4}


def test_a_debate_that_somebody_stops_or_deletes_is_a_failed_match_and_gets_a_new_one(services, place):
    experiment_id = made(services, 1)
    feed.feed_experiment(services, experiment_id)
    one, other = debate_ids(place)
    control.stop_debate(services, OPERATOR, one, None)
    control.delete_debate(services, OPERATOR, other)
    hold(services, place)
    assert counts(place) == {"failed": 2}
    assert manage.retry_failed(services, OPERATOR, experiment_id)[1] == 2
    hold(services, place)
    assert counts(place) == {"completed": 2}
    assert {one, other}.isdisjoint(debate_ids(place))


def test_judges_can_be_added_without_debating_again(services, place):
    experiment_id = made(services, 2)
    hold(services, place)
    _, count = manage.add_judges(
        services, OPERATOR, experiment_id, [{"name": "new", "player": "scripted", "repeats": 2}]
    )
    assert count == 8
    hold(services, place)
    assert counts(place, "judgments") == {"completed": 16}
    assert counts(place, "debates") == {"completed": 4}
    with pytest.raises(Conflict):
        manage.add_judges(services, OPERATOR, experiment_id, [{"name": "new", "player": "scripted", "noise": 1}])


def test_an_experiment_is_deleted_with_all_that_is_its(services, place):
    experiment_id = made(services, 2)
    feed.feed_experiment(services, experiment_id)
    manage.delete(services, OPERATOR, experiment_id)
    for table in ("experiments", "motions", "matches", "debates", "turns", "judgments"):
        assert place.sql(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
    with pytest.raises(NotFound):
        manage.start(services, OPERATOR, experiment_id)


def test_arms_hold_the_same_motions_under_several_rules(services, place):
    arms = {"debate": {"format": "final_ruling", "rounds": 1}, "alone": {"format": "consultancy", "rounds": 1}}
    made(services, 2, arms={**arms, "blind": {"format": "direct"}}, format=None, rounds=None)
    hold(services, place)
    held = place.sql("SELECT arm, count(*) FROM matches WHERE status = 'completed' GROUP BY arm ORDER BY arm")
    assert held == [("alone", 4), ("blind", 2), ("debate", 4)]


def test_the_debates_have_the_material_of_their_motion(services, place):
    given = {"document": "The sky is blue.", "answer_a": "Blue", "answer_b": "Green", "correct": "b", "tags": ["sky"]}
    motion = motion_of({"id": "m1", "motion": "Which?", **given})
    made(services, [motion], language="Welsh", document_visible_to=["proposer"])
    hold(services, place)
    found = place.sql("SELECT material, tags, language, encode(document_hash, 'hex') FROM debates")
    [(stored, document)] = place.sql("SELECT encode(hash, 'hex'), document FROM materials")
    assert document == "The sky is blue."
    assert len(found) == 2
    for material, tags, language, document_hash in found:
        assert material["answers"] == {"proposer": "Blue", "opponent": "Green"}
        assert (material["correct"], tags, language, document_hash) == ("opponent", ["sky"], "Welsh", stored)
        assert material["visible_to"] == ["proposer"]


def test_an_export_says_which_answer_is_correct_of_closed_debates_only(services, place):
    given = {"answer_a": "Blue", "answer_b": "Green", "correct": "b"}
    experiment_id = made(services, [motion_of({"id": "m1", "motion": "Which?", **given})], judges=None)
    feed.feed_experiment(services, experiment_id)
    closed, is_open = debate_ids(place)
    control.stop_debate(services, OPERATOR, closed, None)
    rows = [row for page in exported(services, experiment_id, "debates") for row in page]
    assert {row["debate_id"]: row["correct"] for row in rows} == {closed: "opponent", is_open: None}
