"""Prompts, endpoints and motions of a spec; and stops that a dying process has left half done."""

import pytest
from experiment_steps import a_spec, counts, hold_until, made, motions, status_is
from harness import Api, Place
from situations import judgments
from worker_loop import with_settings

from app.core.access import OPERATOR
from app.core.errors import Conflict, InvalidInput
from app.core.experiments.spec import spec_of
from app.usecases import control
from app.usecases.experiments import feed, manage, pausing
from app.usecases.experiments.results import results_of_experiment
from app.usecases.prompt_sets import add_prompt_set
from app.usecases.services import Services
from app.usecases.sweep import sweep

SHORT = {"manners": "Answer in one sentence."}
LONG = {"manners": "Answer at length."}


def test_debates_are_held_with_the_prompts_that_the_name_meant_at_the_beginning(
    services: Services, place: Place
) -> None:
    short = add_prompt_set(services, OPERATOR, "mine", SHORT)
    experiment_id = made(services, 3, prompts="mine", concurrency=2)
    assert feed.feed_experiment(services, experiment_id).made == 2
    add_prompt_set(services, OPERATOR, "mine", LONG)
    hold_until(services, status_is(place, "completed"))
    assert place.sql("SELECT prompts, prompts_hash, count(*) FROM debates GROUP BY 1, 2") == [("mine", short.hash, 6)]
    assert results_of_experiment(services, experiment_id)["rests_on"]["prompts"] == [f"mine ({short.hash[:12]})"]
    with pytest.raises(Conflict, match="prompt set 'mine' has changed"):
        manage.draft(services, OPERATOR, a_spec(prompts="mine"))
    add_prompt_set(services, OPERATOR, "mine", SHORT)
    assert manage.draft(services, OPERATOR, a_spec(prompts="mine"))[1] is False


def test_an_arm_may_have_prompts_of_its_own(services: Services, place: Place) -> None:
    short = add_prompt_set(services, OPERATOR, "mine", SHORT)
    arms = {"plain": {"rounds": 1}, "own": {"rounds": 1, "prompts": "mine"}}
    experiment_id = made(services, 1, arms=arms, format=None, rounds=None)
    feed.feed_experiment(services, experiment_id)
    found = place.sql("SELECT arm, prompts_hash FROM debates JOIN matches ON debate_id = id GROUP BY 1, 2 ORDER BY 1")
    assert found == [("own", short.hash), ("plain", None)]


def test_contestants_of_the_servers_own_endpoints_are_taken_and_others_refused(
    services: Services, place: Place
) -> None:
    ours = with_settings(services, endpoints=("lab=http://127.0.0.1:9/v1",))
    spec = a_spec(contestants=[{"name": "own", "player": "lab:llama"}, {"name": "weak", "player": "scripted"}])
    with pytest.raises(InvalidInput) as refused:
        manage.draft(services, OPERATOR, spec)
    assert refused.value.context["field"] == "contestants.0.player"
    experiment, _ = manage.draft(ours, OPERATOR, spec)
    assert experiment.spec.contestants[0].player == "lab:llama"
    # A stored spec is read also where the endpoint is gone.
    assert manage.pause(services, OPERATOR, made(services, 1, name="other")).name == "other"
    assert spec_of(place.sql("SELECT spec FROM experiments WHERE name = 'demo'")[0][0]).contestants[0].name == "own"


def test_motions_in_a_spec_are_added_with_it(services: Services, place: Place) -> None:
    spec = {**a_spec(), "motions": [{"id": "m1", "motion": "One."}, "Two."]}
    experiment, _ = manage.draft(services, OPERATOR, spec)
    assert [row[0] for row in place.sql("SELECT motion FROM motions ORDER BY position")] == ["One.", "Two."]
    assert "motions" not in experiment.stated
    manage.draft(services, OPERATOR, {**a_spec(), "motions": ["Two.", "Three."]})
    assert place.sql("SELECT count(*) FROM motions") == [(3,)]
    assert manage.add_motions(services, OPERATOR, experiment.id, motions(2, first=2)) == (2, 5)
    with pytest.raises(Conflict, match="with a different text"):
        manage.draft(services, OPERATOR, {**a_spec(), "motions": [{"id": "m1", "motion": "Another."}]})


def test_a_large_spec_is_taken_over_http(api: Api) -> None:
    listed = [{"id": f"m{n}", "motion": "x" * 1000} for n in range(1000)]
    answer = api.http.post("/experiments", json={**a_spec(name="large"), "motions": listed})
    assert answer.status_code == 201, answer.text
    at = f"/experiments/{answer.json()['data']['experiment']['id']}"
    assert api.http.get(f"{at}/plan").json()["data"]["plan"]["matches"] == 2000
    too_large = {**a_spec(name="too-large"), "motions": [{"id": "m", "motion": "x" * (9 << 20)}]}
    assert api.http.post("/experiments", json=too_large).status_code == 413


def test_the_sweeper_pauses_what_a_stop_has_left_and_resumes_what_a_start_has_left(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = made(services, 4)
    feed.feed_experiment(services, experiment_id)
    by_hand = place.sql("SELECT id FROM debates LIMIT 1")[0][0]
    control.pause_debate(services, OPERATOR, by_hand)
    with monkeypatch.context() as dying:
        dying.setattr(manage, "pause_or_resume_debates", lambda *_: None)
        manage.stop(services, OPERATOR, experiment_id)
        assert counts(place, "debates") == {"created": 3, "paused": 1}
        pausing.pause_or_resume_all(services)
        assert counts(place, "debates") == {"paused": 4}
        manage.start(services, OPERATOR, experiment_id)
    assert counts(place, "debates") == {"paused": 4}
    pausing.pause_or_resume_all(services)
    assert counts(place, "debates") == {"running": 3, "paused": 1}, "what a person has paused stays so"
    pausing.pause_or_resume_all(services)
    control.resume_debate(services, OPERATOR, by_hand)
    hold_until(services, status_is(place, "completed"))
    assert place.sql("SELECT DISTINCT status, reason FROM matches") == [("completed", None)]


def test_a_judgment_of_a_stopped_experiment_waits_also_when_its_worker_dies(services: Services, place: Place) -> None:
    experiment_id = made(services, 1)
    hold_until(services, status_is(place, "completed"))
    manage.add_judges(services, OPERATOR, experiment_id, [{"name": "late", "player": "scripted"}])
    judgments.lose_one(place)
    manage.stop(services, OPERATOR, experiment_id)
    sweep(services)
    assert place.sql("SELECT count(*), count(due_at) FROM judgments WHERE status = 'planned'") == [(2, 0)]
    manage.start(services, OPERATOR, experiment_id)
    hold_until(services, status_is(place, "completed"))
    assert counts(place, "judgments") == {"completed": 6}


def test_a_spec_is_planned_without_being_stored(api: Api, module_place: Place) -> None:
    spec = {"name": "dry", "contestants": [{"player": "scripted", "name": name} for name in ("one", "two")]}
    body = {"spec": spec, "motions": [{"id": "m1"}, {"id": "m2"}]}
    before = api.http.get("/experiments").json()["data"]
    refused = api.http.post("/experiments/plan", json={**body, "spec": {**spec, "rounds": "many"}})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    planned = api.http.post("/experiments/plan", json=body)
    assert planned.status_code == 200, planned.text
    assert planned.json()["data"]["plan"]["matches"] == 4
    assert api.http.get("/experiments").json()["data"] == before
    made = api.http.post("/experiments", json={**spec, "motions": [{"id": "m1", "motion": "Ban cars."}]})
    at = f"/experiments/{made.json()['data']['experiment']['id']}"
    assert api.http.post(f"{at}/start").status_code == 200
    assert api.http.post("/experiments/plan", json=body).json()["data"]["plan"]["matches"] == 4, "none was held yet"
    mixed = api.http.post("/experiments/plan", json={**body, "spec": {**spec, "seed": 8}})
    assert mixed.status_code == 409
    assert module_place.sql(
        "SELECT count(*) FROM motions JOIN experiments ON experiment_id = experiments.id WHERE name = 'dry'"
    ) == [(1,)]
