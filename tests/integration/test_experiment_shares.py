"""Fair shares, as an order of claims: what somebody starts by hand comes first, and two experiments come in proportion
to their concurrency. No clock is in it, so a busy machine changes nothing."""

import asyncio
from collections import Counter
from uuid import UUID

import pytest
from claimed_debates import WORKER, a_debate, ensure_lease, turn
from experiment_steps import made
from harness import Place

from app.core.claims import Room
from app.usecases import advance
from app.usecases.advance import Claim
from app.usecases.experiments import feed
from app.usecases.services import Services
from worker.players.scripted.player import ScriptedPlayer

AT_ONCE = 4
"""Turns that the worker of this test takes at a time, far fewer than are due."""
OF_EXPERIMENTS = "experiment/scripted"


def claimed(services: Services, at_most: int, room: Room) -> list[Claim]:
    ensure_lease(services)
    return [one for one in advance.claim(services, WORKER, [], room, at_most) if isinstance(one, Claim)]


def test_a_debate_started_by_hand_is_claimed_before_the_thousands_that_were_due_earlier(
    services: Services, place: Place
) -> None:
    experiment_id = made(services, 200, name="crowd", concurrency=400, rounds=3)
    while feed.feed_experiment(services, experiment_id).made:
        pass
    assert place.sql("SELECT count(*) FROM debates") == [(400,)]
    by_hand = a_debate(services)
    [first] = claimed(services, 1, Room({OF_EXPERIMENTS: AT_ONCE}, AT_ONCE))
    assert first.debate.id == by_hand.id, "of all that is due it comes first"
    second = a_debate(services)
    [first] = claimed(services, 1, Room({OF_EXPERIMENTS: 0}, AT_ONCE))
    assert first.debate.id == second.id, "also by a worker that is full of the experiment"
    third = a_debate(services)
    fresh = claimed(services, AT_ONCE, Room({}, AT_ONCE))
    assert third.id in {claim.debate.id for claim in fresh}, "also by a worker that has claimed nothing yet"
    assert len(fresh) == AT_ONCE, "with as much of the experiment as there is room for"


@pytest.mark.long
def test_two_experiments_share_a_worker_in_proportion_to_their_concurrency(services: Services, place: Place) -> None:
    wide, narrow = (
        made(services, 40, name=name, concurrency=concurrency, rounds=3)
        for name, concurrency in (("wide", 12), ("narrow", 4))
    )
    taken: Counter[UUID | None] = Counter()
    for _ in range(60):
        for experiment_id in (wide, narrow):
            feed.feed_experiment(services, experiment_id)
        claims = claimed(services, AT_ONCE, Room({OF_EXPERIMENTS: AT_ONCE}, AT_ONCE))
        assert len(claims) == AT_ONCE, "there is always more to do than it can take"
        taken.update(claim.debate.experiment_id for claim in claims)
        thoughts = [asyncio.run(ScriptedPlayer().think(claim.brief)) for claim in claims]
        advance.commit(
            services, [turn(claim, thought, go_on=False) for claim, thought in zip(claims, thoughts, strict=True)]
        )
    assert taken.total() == 60 * AT_ONCE
    assert 0.7 <= taken[wide] / taken.total() <= 0.8, "twelve of sixteen debates under way are its"
