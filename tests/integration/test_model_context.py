"""What a model is shown: the whole debate within its context window; what it was sent is kept with its turn.

The calls are real, to a server on this machine that records them; the debates run on a worker's loop in this process.
"""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import a_debate
from harness import Place
from model_server import SECRET, Call, ModelServer, ruling
from situations.turns_sent import age_exchanges
from worker_loop import held

from app.core.access import OPERATOR, Agent, Scope
from app.core.debate import Debate, Limits, TurnType
from app.core.errors import ArgumentNotFound, Forbidden, NotFound
from app.core.players import SeatSetup
from app.core.schedules import FINAL_RULING, ROUNDS
from app.core.seats import Seat
from app.usecases import control, maintenance
from app.usecases.read import get_exchanges, get_transcript
from app.usecases.services import Services

GPT = "openai:gpt-4o-mini"
UNKNOWN = "openai:my-own-model"
pytestmark = pytest.mark.timeout(300)


def speeches(server: ModelServer, length: int = 3_000) -> Any:
    """Each speech is another text of this length; rulings are the default ones."""

    def say(call: Call) -> str:
        if call.shape and "winner" in call.shape["properties"]:
            return json.dumps(server.rule(call.document) if server.rule else ruling("proposer"))
        return f"Speech {len(server.calls)}: ".ljust(length, "x")

    return say


def between(services: Services, player: str, rounds: int = 5, **judge: Any) -> Debate:
    seats = {seat: SeatSetup(player) for seat in Seat} | {Seat.ARBITRATOR: SeatSetup(player, **judge)}
    return a_debate(services, schedule=FINAL_RULING, seats=seats, limits=Limits(max_rounds=rounds))


@pytest.fixture
def models(models: ModelServer) -> ModelServer:
    models.say = speeches(models)
    return models


@pytest.mark.parametrize("player", [GPT, UNKNOWN])
def test_the_closing_ruling_is_given_all_ten_speeches_whole(
    services: Services, place: Place, models: ModelServer, player: str
) -> None:
    transcript = held(services, place, between(services, player), models)
    said = [turn.content for turn in transcript.arguments if turn.type is TurnType.CLAIM]
    assert [len(text) for text in said] == [3_000] * 10
    document = models.calls[-1].document
    assert [turn["text"] for turn in document["turns"]] == said
    assert "earlier_turns_left_out" not in document
    assert not any("shortened" in turn for turn in document["turns"])
    assert [turn.usage.context_shortened for turn in transcript.arguments if turn.usage] == [False] * 11
    # Every speaker was shown all that was said before, too.
    assert [len(call.document["turns"]) for call in models.calls] == list(range(11))


def test_with_a_window_that_is_too_small_the_oldest_are_shortened_in_order_and_the_turn_says_so(
    services: Services, place: Place, models: ModelServer
) -> None:
    transcript = held(services, place, between(services, GPT), models, context_tokens=6_000)
    said = [turn.content for turn in transcript.arguments if turn.type is TurnType.CLAIM]
    shown = models.calls[-1].document["turns"]
    assert len(shown) == 10
    whole = [turn["text"] for turn in shown if "shortened" not in turn]
    cut = [turn["text"] for turn in shown if "shortened" in turn]
    assert whole == said[-len(whole) :]
    assert len(whole) >= 4
    assert len(cut) >= 5
    assert all(text.startswith(short) for text, short in zip(said, cut, strict=False))
    told = [turn.usage.context_shortened for turn in transcript.arguments if turn.usage]
    assert told == [any("shortened" in turn for turn in call.document["turns"]) for call in models.calls]
    assert told[0] is False
    assert told[-1] is True


def test_what_was_sent_and_answered_is_stored_with_the_turn(
    services: Services, place: Place, models: ModelServer
) -> None:
    transcript = held(services, place, between(services, GPT, rounds=1, temperature=0.5), models)
    speech, _, last = transcript.arguments
    turn, [sent] = get_exchanges(services, OPERATOR, speech.debate_id, speech.id)
    call = models.calls[0]
    assert turn.id == speech.id
    assert sent.system == call.instructions
    assert [dict(message) for message in sent.messages] == [
        {"role": "user", "content": call.body["messages"][-1]["content"]}
    ]
    assert sent.answer == speech.content
    assert (sent.model, sent.request_id) == ("gpt-4o-mini", "call-1")
    assert sent.settings["max_tokens"] == call.body["max_completion_tokens"]
    _, [ruled] = get_exchanges(services, OPERATOR, last.debate_id, last.id)
    assert json.loads(ruled.answer) == ruling("proposer")
    assert ruled.settings["temperature"] == 0.5
    assert "winner" in ruled.settings["schema"]["properties"]


def test_a_judge_asked_in_both_orders_leaves_both_exchanges(
    services: Services, place: Place, models: ModelServer
) -> None:
    transcript = held(services, place, between(services, GPT, rounds=1, judge_order="both"), models)
    last = transcript.arguments[-1]
    _, calls = get_exchanges(services, OPERATOR, last.debate_id, last.id)
    assert [call.judge_order for call in calls] == ["as_spoken", "swapped"]
    assert [json.loads(call.messages[0]["content"])["turns"][0]["seat"] for call in calls] == ["proposer", "opponent"]


def test_no_key_and_no_address_is_stored(services: Services, place: Place, models: ModelServer) -> None:
    held(services, place, between(services, GPT, rounds=1), models)
    rows = place.sql("SELECT to_jsonb(exchanges)::text FROM exchanges")
    assert len(rows) == 3
    assert not any(SECRET in row or models.url in row or "authorization" in row.lower() for (row,) in rows)


def test_an_attempt_that_failed_leaves_no_exchange_and_a_scripted_turn_has_none(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.plan("gpt-4o-mini", "500")
    seats = {seat: SeatSetup("scripted") for seat in Seat} | {Seat.OPPONENT: SeatSetup(GPT)}
    debate = a_debate(services, schedule=ROUNDS, seats=seats, limits=Limits(max_rounds=1))
    transcript = held(services, place, debate, models)
    scripted, spoken, _ = transcript.arguments
    assert len(models.calls) == 2
    [(stored,)] = place.sql("SELECT turn_id FROM exchanges")
    assert stored == spoken.id
    with pytest.raises(NotFound, match="no model made it"):
        get_exchanges(services, OPERATOR, debate.id, scripted.id)


def test_who_may_read_an_exchange(services: Services, place: Place, models: ModelServer) -> None:
    debate = between(services, GPT, rounds=1)
    other = a_debate(services)
    speech = held(services, place, debate, models).arguments[0]
    agent = Agent(UUID(int=1), "somebody", frozenset(Scope))
    with pytest.raises(Forbidden):
        get_exchanges(services, agent, debate.id, speech.id)
    with pytest.raises(ArgumentNotFound):
        get_exchanges(services, OPERATOR, other.id, speech.id)


def test_exchanges_are_pruned_by_age_and_their_turns_stay(
    services: Services, place: Place, models: ModelServer
) -> None:
    debate = between(services, GPT, rounds=2)
    arguments = held(services, place, debate, models).arguments
    age_exchanges(place, arguments[0].id, days=40)
    month = timedelta(days=30)
    before, found = maintenance.count_old_records(services, "exchanges", month)
    assert found == 1
    assert sum(maintenance.prune_records(services, "exchanges", before)) == 1
    assert place.sql("SELECT count(*) FROM exchanges") == [(len(arguments) - 1,)]
    with pytest.raises(NotFound, match="was pruned"):
        get_exchanges(services, OPERATOR, debate.id, arguments[0].id)
    assert len(get_transcript(services, debate.id, None).arguments) == len(arguments)


def test_deleting_a_debate_deletes_its_exchanges(services: Services, place: Place, models: ModelServer) -> None:
    debate = between(services, GPT, rounds=1)
    held(services, place, debate, models)
    control.delete_debate(services, OPERATOR, debate.id)
    assert place.sql("SELECT count(*) FROM exchanges") == [(0,)]
