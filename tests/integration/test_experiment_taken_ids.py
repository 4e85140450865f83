"""A match that cannot be made fails alone, with a reason: the others of its experiment are held."""

from uuid import uuid5

import structlog
from experiment_steps import hold_until, made, status_is
from harness import new_debate
from situations.experiments import lengthen_motion

from app.core.access import OPERATOR
from app.core.schedules import BUILT_IN
from app.http.requests import CreateDebateBody
from app.usecases.create import create_debate
from app.usecases.experiments import feed, manage, match_debates
from app.usecases.experiments.results import exported


def matches(place):
    return place.sql("SELECT motion_id, status, reason, debate_id IS NULL FROM matches ORDER BY motion_id, key")


def take(services, debate_id=None):
    body = CreateDebateBody.model_validate(new_debate(debate_id=debate_id and str(debate_id)))
    return create_debate(services, OPERATOR, body.new_debate(BUILT_IN[body.format])).debate.id


def test_ids_that_were_taken_after_what_is_readable_stop_nothing(services, place):
    experiment_id = made(services, 1)
    for (key,) in place.sql("SELECT key FROM matches"):
        take(services, uuid5(experiment_id, f"{key}#1"))
    hold_until(services, status_is(place, "completed"))
    assert [status for _, status, _, _ in matches(place)] == ["completed"] * 2


def test_an_id_that_is_taken_is_replaced_by_another(services, place, monkeypatch):
    taken = take(services)
    made(services, 2)
    given = iter([taken])
    real = match_debates.new_debate_id
    monkeypatch.setattr(match_debates, "new_debate_id", lambda: next(given, None) or real())
    hold_until(services, status_is(place, "completed"))
    assert [status for _, status, _, _ in matches(place)] == ["completed"] * 4
    assert place.sql("SELECT experiment_id FROM debates WHERE id = %s", taken) == [(None,)]


def test_a_debate_that_postgres_refuses_fails_alone(services, place):
    experiment_id = made(services, 3)
    place.sql("ALTER TABLE debates ADD CONSTRAINT refused CHECK (title <> 'Motion number 2.')")
    with structlog.testing.capture_logs() as logs:
        hold_until(services, status_is(place, "completed"))
    by_motion = {motion: (status, reason, has_none) for motion, status, reason, has_none in matches(place)}
    assert by_motion["m1"] == by_motion["m3"] == ("completed", None, False)
    assert by_motion["m2"] == ("failed", "The debate could not be stored.", True)
    assert [one for one in logs if one["log_level"] != "debug" and "Motion number" in repr(one)] == []
    assert [len(page) for page in exported(services, experiment_id, "debates")] == [4]
    place.sql("ALTER TABLE debates DROP CONSTRAINT refused")
    assert manage.retry_failed(services, OPERATOR, experiment_id)[1] == 2
    hold_until(services, status_is(place, "completed"))
    assert [status for _, status, _, _ in matches(place)] == ["completed"] * 6


def test_a_match_that_this_server_no_longer_allows_fails_alone(services, place):
    experiment_id = made(services, 2)
    lengthen_motion(place, "m1", 20_000)
    feed.feed_experiment(services, experiment_id)
    reason = "motion_content: 20000 bytes of UTF-8; the limit is 10240"
    assert [row[:3] for row in matches(place)] == [("m1", "failed", reason)] * 2 + [("m2", "running", None)] * 2
