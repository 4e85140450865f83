"""A plan is counted before it is made, made outside the request, and written in parts."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import until
from experiment_steps import a_spec, at_work, drafted, made, motions, status_is
from harness import Api, Place, wait_until
from situations.experiments import end_planning_claim
from worker_loop import PATIENCE_SECONDS

from app.core.access import OPERATOR
from app.core.errors import ContentTooLarge, InvalidInput
from app.core.experiments.motions import motion_of
from app.core.experiments.plan import plan
from app.core.experiments.spec import spec_of
from app.store.experiments import planning as store
from app.usecases.experiments import feed, manage, planning
from app.usecases.services import Services

REPEATS = 12
MOTIONS = 1_000
LARGE = 2 * REPEATS * MOTIONS
"""More matches than a request writes."""
WRITTEN = "SELECT key FROM matches ORDER BY position"
IS_PLANNED = "SELECT planning IS NULL FROM experiments"


def crowd(count: int, **changes: Any) -> dict[str, Any]:
    return a_spec(contestants=[{"name": f"c{n}", "player": "scripted"} for n in range(count)], **changes)


def large(services: Services) -> UUID:
    """A draft. One debate at a time: this is about its plan."""
    return drafted(services, MOTIONS, repeats=REPEATS, concurrency=1)


def whole_plan(count: int = MOTIONS) -> list[str]:
    return [match.key for match in plan(spec_of(a_spec(repeats=REPEATS)), motions(count))]


def written(place: Place) -> list[str]:
    return [key for (key,) in place.sql(WRITTEN)]


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (crowd(200, repeats=26), "contestants", "1,034,800 matches"),
        (crowd(200, repeats=1000), "contestants", "39,800,000 matches"),
        (crowd(100_000), "contestants.200", "at most 200"),
        (crowd(200, format=None, rounds=None, arms={name: {} for name in "abc"}), "contestants", "119,400 ways"),
        (crowd(200, pairing=[["c0", "c1"]] * 200_000), "pairing", "at most 19,900 pairs"),
        (a_spec(language="x" * 101), "language", "more than 100 characters"),
        (a_spec(format=None, rounds=None, arms={f"a{n}": {} for n in range(10_000)}), "arms", "at most 100"),
        (a_spec(judges=[{"name": "j", "player": "scripted"}] * 100_000), "judges.100", "at most 100"),
    ],
)
def test_a_spec_that_is_too_large_is_refused_by_its_count(
    services: Services, spec: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        manage.draft(services, OPERATOR, spec)
    assert refused.value.context["field"] == field


def test_a_draft_of_many_contestants_is_counted_and_not_planned(api: Api) -> None:
    spec = crowd(200, repeats=20, name="crowd")
    answer = api.http.post("/experiments", json={**spec, "motions": ["One."]})
    assert answer.status_code == 201, answer.text
    at = f"/experiments/{answer.json()['data']['experiment']['id']}"
    assert api.http.get(f"{at}/plan").json()["data"]["plan"]["matches"] == 200 * 199 * 20
    assert api.http.post(f"{at}/motions", content=b'"Two."').status_code == 200
    assert api.http.get(at).status_code == 200, "a draft can be read although it has too many matches"
    for refused in (api.http.post(f"{at}/start"), api.http.get(f"{at}/plan")):
        assert refused.status_code == 400
        assert "1,592,000 matches" in refused.json()["error"]["message"]


def test_the_debate_of_every_contestant_on_every_side_is_tried_before_a_draft_is_stored(
    services: Services, place: Place
) -> None:
    long = {"name": "long", "player": "scripted", "persona": "x" * (services.settings.max_content_length + 1)}
    spec = crowd(20)
    with pytest.raises(ContentTooLarge):
        manage.draft(services, OPERATOR, {**spec, "contestants": [*spec["contestants"], long]})
    assert place.sql("SELECT count(*) FROM experiments") == [(0,)]


async def test_a_large_plan_is_left_to_workers_and_is_the_same(services: Services, place: Place) -> None:
    experiment_id = large(services)
    assert manage.start(services, OPERATOR, experiment_id).status == "running"
    assert place.sql("SELECT count(*) FROM matches") == [(0,)]
    assert feed.feed_experiment(services, experiment_id) == feed.NOTHING
    assert status_is(place, "running")(), "it is not over before it is planned"
    async with at_work(services):
        await until(lambda: place.sql(IS_PLANNED) == [(True,)], PATIENCE_SECONDS, "the plan is written")
    assert written(place) == whole_plan()
    assert place.sql("SELECT min(position), max(position), count(DISTINCT position) FROM matches") == [
        (1, LARGE, LARGE)
    ]


@pytest.mark.parametrize("point", ["plan.before_commit", "plan.after_commit"])
def test_another_worker_writes_the_rest_of_a_plan(services: Services, place: Place, point: str) -> None:
    experiment_id = large(services)
    manage.start(services, OPERATOR, experiment_id)
    victim = place.start_worker(failpoints=f"{point}=crash@2")
    assert victim.wait(60) == -signal.SIGKILL
    left = written(place)
    assert left == whole_plan()[: len(left)]
    assert 0 < len(left) < LARGE
    end_planning_claim(place)
    place.start_worker()
    wait_until(lambda: place.sql(IS_PLANNED) == [(True,)], 60, "the plan is written")
    assert written(place) == whole_plan()


def test_a_stop_ends_planning_and_a_start_continues_it_with_more_motions(services: Services, place: Place) -> None:
    experiment_id = large(services)
    manage.start(services, OPERATOR, experiment_id)
    parts = iter([True, True, False])
    planning.write_if_unclaimed(services, experiment_id, lambda: next(parts))
    manage.stop(services, OPERATOR, experiment_id)
    assert store.claim(services.engine, experiment_id) is None
    first = written(place)
    assert len(first) == 2 * planning.PART_MATCHES
    manage.add_motions(services, OPERATOR, experiment_id, motions(1, MOTIONS + 1))
    manage.start(services, OPERATOR, experiment_id)
    planning.write_if_unclaimed(services, experiment_id, lambda: True)
    assert written(place)[: len(first)] == first
    assert set(written(place)) == set(whole_plan(MOTIONS + 1))


def test_a_start_replaces_the_plan_that_another_one_writes(services: Services, place: Place) -> None:
    """The first is in the middle of its plan, and knows nothing of the motion that was added."""
    experiment_id = large(services)
    manage.start(services, OPERATOR, experiment_id)

    def start_again() -> bool:
        if len(written(place)) == planning.PART_MATCHES:
            manage.add_motions(services, OPERATOR, experiment_id, motions(1, MOTIONS + 1))
            manage.start(services, OPERATOR, experiment_id)
        return True

    planning.write_if_unclaimed(services, experiment_id, start_again)
    assert place.sql(IS_PLANNED) == [(False,)]
    planning.write_if_unclaimed(services, experiment_id, lambda: True)
    assert place.sql(IS_PLANNED) == [(True,)]
    assert set(written(place)) == set(whole_plan(MOTIONS + 1))


def test_starts_at_the_same_time_plan_each_match_once(services: Services, place: Place) -> None:
    experiment_id = drafted(services, 200)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: manage.start(services, OPERATOR, experiment_id), range(4)))
    assert place.sql("SELECT count(*), count(DISTINCT position) FROM matches") == [(400, 400)]
    assert place.sql(IS_PLANNED) == [(True,)]


def test_any_name_can_be_planned(services: Services, place: Place) -> None:
    odd = 'tab\t, line\r\n, back\\slash \\N \\., "quotes", ümläut, 🙂'
    named = 'back\\slash \\N \\., "quotes", ümläut, 🙂'
    contestants = [{"name": name, "player": "scripted"} for name in (named, "other")]
    made(services, [motion_of({"id": odd, "motion": "One."})], contestants=contestants)
    rows = place.sql("SELECT arm, motion_id, proposer, opponent, key FROM matches ORDER BY proposer")
    assert sorted(row[:4] for row in rows) == sorted([("", odd, named, "other"), ("", odd, "other", named)])
    assert json.loads(rows[0][4])[1] == odd


def test_a_plan_of_an_experiment_that_grew_counts_what_is_new(services: Services, place: Place) -> None:
    for swap_sides in (True, False):
        name = f"grown-{swap_sides}"
        experiment_id = made(services, 5, name=name, swap_sides=swap_sides)
        more = a_spec(name=name, swap_sides=swap_sides, repeats=2)
        more["contestants"] = [*more["contestants"], {"name": "third", "player": "scripted"}]
        manage.draft(services, OPERATOR, more)
        manage.add_motions(services, OPERATOR, experiment_id, motions(7))
        manage.start(services, OPERATOR, experiment_id)
        [(count,)] = place.sql("SELECT count(*) FROM matches WHERE experiment_id = %s", experiment_id)
        assert count == len(plan(spec_of(more), motions(7))) == 7 * 3 * 2 * (2 if swap_sides else 1)
