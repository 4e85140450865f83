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
from test_api_envelope import data_of
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
CLAUDE = "anthropic:claude-sonnet-4-5"
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
    shown = [json.JSONDecoder().raw_decode(call.messages[0]["content"])[0] for call in calls]
    assert [document["turns"][0]["seat"] for document in shown] == ["proposer", "opponent"]


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


def marked(blocks: list[dict[str, Any]]) -> list[int]:
    return [place for place, block in enumerate(blocks) if "cache_control" in block]


def test_a_provider_that_caches_what_is_marked_gets_marks_at_the_end_of_what_later_calls_repeat(
    services: Services, place: Place, models: ModelServer
) -> None:
    transcript = held(services, place, between(services, CLAUDE, rounds=2), models)
    assert [call.wire for call in models.calls] == ["anthropic"] * 5
    before: list[str] = []
    for call in models.calls:
        turns = len(call.document["turns"])
        [message] = call.body["messages"]
        texts = [block["text"] for block in message["content"]]
        # What stands before the turns, each turn, and the task, which no later call repeats.
        assert len(texts) == turns + 2
        assert marked(message["content"]) == sorted({0, turns})
        assert texts[: len(before)] == before
        before = texts[:-1]
        assert marked(call.body["system"]) == [len(call.body["system"]) - 1]
        every = (*call.body["system"], *call.body.get("tools", ()), *message["content"])
        assert len(marked(list(every))) <= 4, "Anthropic allows no more"
    ruling_turn = transcript.arguments[-1]
    _, [sent] = get_exchanges(services, OPERATOR, ruling_turn.debate_id, ruling_turn.id)
    assert [dict(message) for message in sent.messages] == [{"role": "user", "content": models.calls[-1].text}]


def test_a_provider_that_needs_no_marks_is_sent_one_text(services: Services, place: Place, models: ModelServer) -> None:
    held(services, place, between(services, GPT, rounds=1), models)
    assert all(isinstance(call.body["messages"][-1]["content"], str) for call in models.calls)
    assert "cache" not in json.dumps([call.body for call in models.calls])


COUNTS = {
    GPT: {
        "prompt_tokens": 10_000,
        "completion_tokens": 100,
        "total_tokens": 10_100,
        "prompt_tokens_details": {"cached_tokens": 8_000},
    },
    CLAUDE: {
        "input_tokens": 1_500,
        "cache_read_input_tokens": 8_000,
        "cache_creation_input_tokens": 500,
        "output_tokens": 100,
    },
}
PRICES = {
    # Of a million tokens: input, from the cache, to the cache, output.
    GPT: (2_000 * 0.15 + 8_000 * 0.075 + 100 * 0.6) / 1e6,
    CLAUDE: (1_500 * 3.0 + 8_000 * 0.3 + 500 * 3.75 + 100 * 15.0) / 1e6,
}


@pytest.mark.parametrize("player", [GPT, CLAUDE])
def test_what_a_provider_read_from_its_cache_is_told_of_the_turn_and_costs_less(
    services: Services, place: Place, models: ModelServer, player: str
) -> None:
    models.count = lambda _: COUNTS[player]
    transcript = held(services, place, between(services, player, rounds=1, judge_order="both"), models)
    first, _, last = transcript.arguments
    assert (first.usage.input_tokens, first.usage.cached_tokens) == (10_000, 8_000)
    assert first.usage.cost_usd == pytest.approx(PRICES[player])
    # Asked in both orders: the usage of a turn is that of all its calls.
    assert (last.usage.input_tokens, last.usage.cached_tokens) == (20_000, 16_000)
    shown = data_of(place.start_api().http.get(f"/debates/{first.debate_id}"))["arguments"]
    assert [turn["usage"]["cached_tokens"] for turn in shown] == [8_000, 8_000, 16_000]


@pytest.mark.parametrize("cached", [-5, 10_001, "many"])
def test_a_cached_count_that_cannot_be_true_is_no_count(
    services: Services, place: Place, models: ModelServer, cached: Any
) -> None:
    models.count = lambda _: {**COUNTS[GPT], "prompt_tokens_details": {"cached_tokens": cached}}
    transcript = held(services, place, between(services, GPT, rounds=1), models)
    for turn in transcript.arguments:
        assert 0 <= turn.usage.cached_tokens <= turn.usage.input_tokens
        assert turn.usage.cost_usd > 0
