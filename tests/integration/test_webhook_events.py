"""Every event of the contract is written to the outbox by what makes it true, and by nothing else."""

import asyncio

import pytest
from callers import an_agent
from claimed_debates import until
from experiment_steps import hold_until, made, status_is
from harness import new_debate
from test_api_envelope import data_of
from test_guardrail_task import FLAGGED, all_settled, contribute, guard_until
from test_judgments import BOTH, a_debate, judge_until, settled
from watchers import EXTERNAL
from worker_loop import PATIENCE_SECONDS, live_runner, with_settings

from app.core.access import OPERATOR
from app.core.retry import PlayerError
from app.core.webhooks import WebhookEvent
from app.usecases import judgments, webhooks


@pytest.fixture
def hook(api):
    """The id of a webhook that is told everything; the others of this module are gone."""
    for other in data_of(api.http.get("/webhooks"))["webhooks"]:
        data_of(api.http.delete(f"/webhooks/{other['id']}"))
    body = {"url": "https://example.org/hooks", "events": list(WebhookEvent)}
    return data_of(api.http.post("/webhooks", json=body), 201)["webhook"]["id"]


def told(api, hook):
    """Events with the role of the seat, oldest first."""
    found = data_of(api.http.get(f"/webhooks/{hook}/deliveries"))["deliveries"]
    return [(each["event"], each["data"].get("role")) for each in reversed(found)]


def a_dialogue(api, **changes):
    data = data_of(api.http.post("/debates", json=new_debate(format="dialogue", seats=EXTERNAL, **changes)), 201)
    return f"/debates/{data['debate']['id']}", data["argument"]["id"]


def say(api, path, **body):
    return data_of(api.http.post(path, json={"content": "words", **body}), 201)["argument"]["id"]


def test_a_dialogue_of_people_tells_who_is_waited_for_and_how_it_ends(api, hook):
    at, motion = a_dialogue(api)
    assert told(api, hook) == [("seat.waiting", "opponent")]
    claim = say(api, f"{at}/arguments", role="opponent", target_id=motion, client_request_id="1")
    assert told(api, hook)[1:] == [("debate.started", None), ("seat.waiting", "proposer")]
    say(api, f"{at}/resolution", target_id=claim, client_request_id="2")
    assert told(api, hook)[3:] == [("debate.completed", None)]
    last = data_of(api.http.get(f"/webhooks/{hook}/deliveries"))["deliveries"][0]
    assert (last["data"]["status"], last["data"]["stop_reason"]) == ("completed", "resolution")
    assert at.endswith(last["data"]["debate_id"])


def test_an_intervention_waits_for_the_judge(api, hook):
    at, _ = a_dialogue(api)
    say(api, f"{at}/intervention")
    assert told(api, hook)[-1] == ("seat.waiting", "arbitrator")


def test_a_debate_that_waits_for_its_start_waits_for_nobody_until_then(api, hook):
    at, _ = a_dialogue(api, start=False)
    assert told(api, hook) == []
    data_of(api.http.post(f"{at}/start"))
    assert told(api, hook) == [("debate.started", None), ("seat.waiting", "opponent")]


def test_one_that_was_stopped_before_it_began_is_stopped_and_never_started(api, hook):
    at, _ = a_dialogue(api)
    for _ in range(2):
        data_of(api.http.post(f"{at}/stop"))
    assert told(api, hook) == [("seat.waiting", "opponent"), ("debate.stopped", None)]


def test_a_pause_tells_nothing_and_its_end_says_who_is_waited_for(api, hook):
    at, _ = a_dialogue(api)
    data_of(api.http.post(f"{at}/pause"))
    assert told(api, hook) == [("seat.waiting", "opponent")]
    data_of(api.http.post(f"{at}/resume"))
    assert told(api, hook)[1:] == [("debate.started", None), ("seat.waiting", "opponent")]


def test_the_deadline_of_a_seat_is_told_as_the_api_tells_it(api, hook):
    late = {"player": "external", "deadline_seconds": 600}
    data = data_of(
        api.http.post("/debates", json=new_debate(format="dialogue", seats={**EXTERNAL, "opponent": late})), 201
    )
    [sent] = data_of(api.http.get(f"/webhooks/{hook}/deliveries"))["deliveries"]
    assert sent["data"]["waiting_until"] == data["debate"]["waiting_until"]
    assert sent["data"]["waiting_until"].endswith("Z")


def test_what_a_webhook_has_not_asked_for_is_not_written(api, hook):
    body = {"url": "https://example.org/other", "events": ["debate.stopped", "debate.stopped"]}
    other = data_of(api.http.post("/webhooks", json=body), 201)["webhook"]
    assert other["events"] == ["debate.stopped"]
    at, _ = a_dialogue(api)
    data_of(api.http.post(f"{at}/stop"))
    assert told(api, other["id"]) == [("debate.stopped", None)]


def test_a_change_that_is_rolled_back_tells_nothing(module_place, api, hook):
    at, _ = a_dialogue(api)
    with pytest.raises(Exception, match="division by zero"):
        module_place.sql(
            "WITH stopped AS (UPDATE debates SET status = 'stopped', stop_reason = 'manual_stop' WHERE id = %s"
            " RETURNING turn_count) SELECT 1 / (turn_count - turn_count) FROM stopped",
            at.removeprefix("/debates/"),
        )
    assert told(api, hook) == [("seat.waiting", "opponent")]


# What workers make true


@pytest.fixture
def outbox(services):
    """What is written to it, oldest first."""
    hook = webhooks.add_webhook(services, OPERATOR, "https://example.org/hooks", list(WebhookEvent), None)
    return lambda: [each.event for each in reversed(webhooks.list_deliveries(services, OPERATOR, hook.id))]


def run_until_told(services, outbox, event, player_for=None):
    async def work():
        chosen = {"player_for": player_for} if player_for else {}
        async with live_runner(with_settings(services), **chosen):
            await until(lambda: event in outbox(), PATIENCE_SECONDS, f"{event} is told")

    asyncio.run(work())


def test_a_debate_of_workers_starts_and_completes_and_a_judgment_of_it_is_told(services, place, outbox):
    debate_id = a_debate(services)
    run_until_told(services, outbox, "debate.completed")
    assert outbox() == ["debate.started", "debate.completed"]
    judgments.ask(services, OPERATOR, debate_id, BOTH)
    judge_until(services, settled(place))
    assert outbox()[2:] == ["judgment.completed"] * 2


def test_a_failure_is_told_when_nobody_tries_again(services, outbox):
    class Broken:
        async def think(self, _):
            raise PlayerError("Out of order.", permanent=True)

    a_debate(services)
    run_until_told(services, outbox, "debate.failed", lambda _: Broken())
    assert outbox() == ["debate.started", "debate.failed"]


def test_the_end_of_an_experiment_is_told_once(services, place, outbox):
    made(services, 1)
    hold_until(services, status_is(place, "completed"))
    assert outbox().count("experiment.completed") == 1


def test_a_contribution_that_was_flagged_is_told(services, place, outbox):
    author = an_agent(services)
    contribute(services, author)
    contribute(services, author, FLAGGED)
    guard_until(services, all_settled(place))
    assert outbox() == ["contribution.flagged"]
