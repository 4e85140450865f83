"""In a debate with answers a judge is asked which answer is correct, and how likely that is; in the other order it is
shown the answers exchanged, and where nothing can be exchanged it is asked once.

The calls are real, to a provider on this machine that records their bytes.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from claimed_debates import a_debate
from experiment_steps import hold_by_models
from harness import Place
from model_server import SECRET, Call, ModelServer, ruling, which_answer
from situations.judgments import age_exchanges
from test_api_envelope import data_of

from app.core.access import OPERATOR, Agent, Scope
from app.core.debate import Debate, Limits, TurnType
from app.core.errors import Forbidden, NotFound
from app.core.experiments.motions import motion_of
from app.core.judgments import Judge, Judgment
from app.core.players import JudgeOrder, SeatSetup
from app.core.prompt_sets import BUILT_IN
from app.core.schedules import BUILT_IN as FORMATS
from app.core.schedules import CONSULTANCY, DIRECT, FINAL_RULING, INTERACTIVE, Schedule
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.usecases import judgments, maintenance
from app.usecases.documents import NewMaterial
from app.usecases.experiments import manage
from app.usecases.experiments.read import plan
from app.usecases.experiments.results import results_of_experiment
from app.usecases.read import get_transcript
from app.usecases.services import Services

GPT = "openai:gpt-4o-mini"
JUDGE = "openai:gpt-4o"
ANSWERS = {"proposer": "Green owns it.", "opponent": "Blue owns it."}
DOCUMENT = "The mill closed in 1987. Green bought it in 1988."
BOTH = Judge("model", SeatSetup(JUDGE), JudgeOrder.BOTH)
ABOUT_MOTIONS = ("motion", "argue better", "argued better", "case for", "price", "have argued", "right or")
ALONE = (CONSULTANCY, DIRECT)
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.moves = ["claim"]
        yield server


def all_are(place: Place, table: str, status: str) -> Callable[[], bool]:
    query = f"SELECT count(*) > 0 AND count(*) = count(*) FILTER (WHERE status = %s) FROM {table}"  # noqa: S608
    return lambda: place.sql(query, status) == [(True,)]


def asked(services: Services, form: Schedule, has_answers: bool, **judge: Any) -> Debate:
    """The beginning of its calls' documents names the format."""
    seats = {seat: SeatSetup(GPT) for seat in Seat} | {Seat.ARBITRATOR: SeatSetup(JUDGE, **judge)}
    return a_debate(
        services,
        schedule=form,
        seats=seats,
        motion_content=f"{form.name}: " + ("Who owns the mill?" if has_answers else "Mills should close."),
        limits=Limits(max_rounds=2 if form.has_rounds else None),
        material=NewMaterial(DOCUMENT, None, ANSWERS, "proposer") if has_answers else None,
    )


def ruled(services: Services, place: Place, models: ModelServer) -> Verdict:
    """The verdict of the judge who has the seat, on a question."""
    debate = asked(services, DIRECT, has_answers=True)
    hold_by_models(services, models, all_are(place, "debates", "completed"))
    return get_transcript(services, debate.id, None).debate.verdict


def judged(services: Services, debate: Debate) -> list[Judgment]:
    return sorted(judgments.of_debate(services, debate.id), key=lambda one: one.key.order)


def about(call: Call) -> str:
    document = call.document
    return str(document.get("question") or document["motion"])


def right_answer(document: dict[str, Any]) -> dict[str, Any]:
    """A judge who knows the answer, wherever it is shown."""
    [letter] = [letter for letter, text in document["answers"].items() if text == ANSWERS["proposer"]]
    return which_answer(letter, 0.9)


def first_answer(_: dict[str, Any]) -> dict[str, Any]:
    return which_answer("A", 0.7)


def test_every_call_about_a_question_speaks_of_its_answers_and_none_of_a_motion(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.rule = lambda document: right_answer(document) if "answers" in document else ruling("proposer")
    debates = {(form, with_): asked(services, form, with_) for form in FORMATS.values() for with_ in (True, False)}
    hold_by_models(services, models, all_are(place, "debates", "completed"))
    for debate in debates.values():
        judgments.ask(services, OPERATOR, debate.id, BOTH)
    live = len(models.calls)
    hold_by_models(services, models, all_are(place, "judgments", "completed"))

    for form, has_answers in debates:
        of_debate = [call for call in models.calls if about(call).startswith(f"{form.name}:")]
        sent = [call for call in of_debate if ("question" in call.document) == has_answers]
        assert sent, form
        for call in sent:
            said = json.dumps(call.body).lower()
            if has_answers:
                assert [words for words in ABOUT_MOTIONS if words in said] == [], (form, call.instructions, call.task)
                _speaks_of_answers(call)
            else:
                assert "motion" in call.instructions, form
                assert "answers" not in call.document
    # One judgment where nothing can be exchanged: nobody pays twice for the same words.
    paid = {key: len(judged(services, debate)) for key, debate in debates.items()}
    assert paid == {(form, with_): 1 if form in ALONE and not with_ else 2 for form, with_ in debates}
    bodies = [json.dumps(call.body) for call in models.calls[live:]]
    assert len(bodies) == len(set(bodies)) == sum(paid.values())
    for (form, has_answers), debate in debates.items():
        for one in judged(services, debate):
            assert one.verdict is not None
            assert (one.verdict.winner, one.verdict.confidence) == ("proposer", 0.9 if has_answers else None), form
            assert one.prompts_hash == BUILT_IN["v4"]


def _speaks_of_answers(call: Call) -> None:
    properties = (call.shape or {}).get("properties", {})
    told, shown = call.task, call.document["answers"]
    if "probability" in properties:
        assert "which one is correct, and how likely" in told
        assert set(properties) == {"reasoning", "answer", "probability", "stop"}
        assert "probability" in call.shape["required"]
        assert sorted(shown) == ["A", "B"]
        assert sorted(call.document["defends"].values()) == ["A", "B"]
    else:
        assert shown == ANSWERS
        for seat in ("proposer", "opponent"):
            defends = f'You defend the answer under "{seat}"' in told
            assert defends == (f"You are the {seat}. You defend" in told)
        if "You are the arbitrator" in told:
            assert "decide which of the two answers is correct" in told


def test_swapped_exchanges_the_answers_and_the_speeches_and_the_winner_is_mapped_back(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.rule = first_answer
    debates = {form: asked(services, form, has_answers=True) for form in FORMATS.values()}
    hold_by_models(services, models, all_are(place, "debates", "completed"))
    for debate in debates.values():
        judgments.ask(services, OPERATOR, debate.id, BOTH)
    live = len(models.calls)
    hold_by_models(services, models, all_are(place, "judgments", "completed"))
    for form, debate in debates.items():
        documents = [call.document for call in models.calls[live:] if about(call).startswith(f"{form.name}:")]
        shown = {document["answers"]["A"]: document for document in documents}
        assert (len(documents), sorted(shown)) == (2, sorted(ANSWERS.values())), form
        for first, second in (("proposer", "opponent"), ("opponent", "proposer")):
            document = shown[ANSWERS[first]]
            assert document["answers"] == {"A": ANSWERS[first], "B": ANSWERS[second]}, form
            assert document["defends"] == {first: "A", second: "B"}, form
        as_spoken, swapped = judged(services, debate)
        assert (as_spoken.verdict.winner, as_spoken.verdict.confidence) == ("proposer", 0.7), form
        assert (swapped.verdict.winner, swapped.verdict.confidence) == ("opponent", 0.7), form
        assert as_spoken.verdict.scores == pytest.approx({"proposer": 7.0, "opponent": 3.0})
        assert swapped.verdict.scores == pytest.approx({"proposer": 3.0, "opponent": 7.0})
        assert "the opponent's answer as A" in swapped.verdict.reasoning


@pytest.mark.parametrize(
    ("form", "has_answers", "calls"),
    [
        (DIRECT, False, 1),
        (CONSULTANCY, False, 1),
        (DIRECT, True, 2),
        (FINAL_RULING, False, 2),
    ],
)
def test_a_judge_in_the_seat_is_asked_in_both_orders_where_there_are_two(
    services: Services, place: Place, models: ModelServer, form: Schedule, has_answers: bool, calls: int
) -> None:
    models.calls.clear()
    models.rule = lambda document: first_answer(document) if "answers" in document else ruling("proposer")
    debate = asked(services, form, has_answers, judge_order="both")
    hold_by_models(services, models, lambda: get_transcript(services, debate.id, None).debate.is_closed)
    assert len([call for call in models.calls_of("gpt-4o") if call.shape]) == calls
    verdict = get_transcript(services, debate.id, None).debate.verdict
    # Who is shown first decides: a tie, that keeps both.
    assert verdict.winner == ("tie" if has_answers else "proposer")
    if has_answers:
        assert {order: said["winner"] for order, said in verdict.orders.items()} == {
            "as_spoken": "proposer",
            "swapped": "opponent",
        }


def test_an_answer_without_a_probability_or_against_itself_is_asked_for_again(
    services: Services, place: Place, models: ModelServer
) -> None:
    unusable = [{"reasoning": "So.", "answer": "A", "stop": False}, which_answer("A", 0.3), which_answer("C", 0.9)]
    models.rule = lambda document: unusable.pop(0) if unusable else right_answer(document)
    verdict = ruled(services, place, models)
    assert len(models.calls) == 4
    assert (verdict.winner, verdict.confidence) == ("proposer", 0.9)


def test_a_guess_names_an_answer_and_its_side_has_the_higher_score(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.rule = lambda _: which_answer("B", 0.5)
    verdict = ruled(services, place, models)
    assert (verdict.winner, verdict.confidence) == ("opponent", 0.5)
    assert verdict.scores["opponent"] > verdict.scores["proposer"]


def experiment_of(services: Services) -> UUID:
    """Two questions and two motions, in three arms, judged in both orders by one who knows and one who does not."""
    spec = {
        "name": "orders",
        "contestants": [{"name": "one", "player": GPT}, {"name": "two", "player": GPT}],
        "arms": {
            "debate": {"format": "final_ruling", "rounds": 1},
            "consultancy": {"format": "consultancy", "rounds": 1},
            "direct": {"format": "direct"},
        },
        "judges": [
            {"name": "knows", "player": "openai:gpt-4.1", "orders": "both"},
            {"name": "first", "player": "openai:gpt-4.1-mini", "orders": "both"},
        ],
        "swap_sides": False,
    }
    experiment, _ = manage.draft(services, OPERATOR, spec)
    answers = {"answer_a": ANSWERS["proposer"], "answer_b": ANSWERS["opponent"], "correct": "a"}
    given = [motion_of({"id": f"q{n}", "motion": f"Who owns mill {n}?", **answers}) for n in (1, 2)]
    given += [motion_of({"id": f"m{n}", "motion": f"Mill {n} should close."}) for n in (1, 2)]
    manage.add_motions(services, OPERATOR, experiment.id, given)
    return experiment.id


def test_an_experiment_plans_pays_and_compares_each_debate_in_the_orders_that_it_has(
    services: Services, place: Place, models: ModelServer
) -> None:
    def say(call: Call) -> str:
        if "probability" in (call.shape or {}).get("properties", {}):
            knows = call.model == "gpt-4.1"
            return json.dumps(right_answer(call.document) if knows else first_answer(call.document))
        return json.dumps(ruling("proposer")) if call.shape else "A speech."

    models.say = say
    experiment_id = experiment_of(services)
    # debate: 4 motions; consultancy: 2 contestants on each; direct: 4. Of the last two, motions have one order.
    two_orders = 4 + 2 * 2 + 2
    one_order = 2 * 2 + 2
    expected = 2 * (2 * two_orders + one_order)
    assert plan(services, OPERATOR, experiment_id)[1].judgments == expected
    manage.start(services, OPERATOR, experiment_id)
    assert plan(services, OPERATOR, experiment_id)[1].judgments == expected
    hold_by_models(services, models, all_are(place, "experiments", "completed"))
    assert place.sql("SELECT count(*) FROM judgments WHERE status = 'completed'") == [(expected,)]
    assert plan(services, OPERATOR, experiment_id)[1].judgments == 0
    manage.start(services, OPERATOR, experiment_id)
    assert place.sql("SELECT count(*) FROM judgments") == [(expected,)]

    results = results_of_experiment(services, experiment_id)
    assert results["rests_on"]["prompts"] == ["v4"]
    judges = {judge["judge"]: judge for judge in results["judges"]}
    assert [judges[name]["compared"] for name in ("knows", "first")] == [two_orders, two_orders]
    questions = 2 + 2 * 2 + 2
    assert [judges[name]["flips"] for name in ("knows", "first")] == [0, questions]
    assert judges["knows"]["accuracy"]["value"] == 1.0
    assert judges["first"]["accuracy"]["value"] == 0.5
    assert judges["knows"]["brier"]["value"] == pytest.approx(0.1**2)
    assert judges["first"]["brier"]["value"] == pytest.approx((0.3**2 + 0.7**2) / 2)


def test_a_judges_question_names_no_letter_that_would_mean_the_other_answer_in_the_other_order(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.rule = right_answer
    debate = asked(services, INTERACTIVE, has_answers=True)
    hold_by_models(services, models, all_are(place, "debates", "completed"))
    [question] = [
        turn for turn in get_transcript(services, debate.id, None).arguments if turn.type is TurnType.QUESTION
    ]
    assert question.content
    [asking] = [call for call in models.calls_of("gpt-4o") if not call.shape]
    assert asking.document["answers"] == ANSWERS
    assert "defends" not in asking.document


def test_a_judgment_keeps_what_its_model_was_sent_and_answered_until_it_is_pruned(
    services: Services, place: Place, models: ModelServer
) -> None:
    models.rule = right_answer
    debate = asked(services, DIRECT, has_answers=True)
    hold_by_models(services, models, all_are(place, "debates", "completed"))
    setup = SeatSetup(JUDGE, temperature=0.5, persona="A careful clerk")
    judgments.ask(services, OPERATOR, debate.id, Judge("model", setup, JudgeOrder.SWAPPED))
    hold_by_models(services, models, all_are(place, "judgments", "completed"))
    [one] = judged(services, debate)
    judgment, [kept] = judgments.get_exchanges(services, OPERATOR, debate.id, one.id)
    call = models.calls[-1]
    assert kept.system == call.instructions
    assert [dict(message) for message in kept.messages] == [{"role": "user", "content": call.text}]
    assert json.loads(kept.answer) == right_answer(call.document)
    assert (kept.model, kept.request_id, kept.settings["temperature"]) == ("gpt-4o", "call-1", 0.5)
    assert judgment.prompts_hash == BUILT_IN["v4"]
    read = place.start_api().http.get(f"/debates/{debate.id}/judgments/{one.id}/exchange")
    exchange = data_of(read)["exchange"]
    told = ("judgment_id", "debate_id", "judge", "player", "order", "prompts")
    assert [exchange[name] for name in told] == [
        *(str(one.id), str(debate.id), "model", JUDGE, "swapped", BUILT_IN["v4"]),
    ]
    [sent] = exchange["calls"]
    assert (sent["system"], sent["messages"][0]["content"]) == (call.instructions, call.text)
    assert (sent["model"], sent["request_id"], sent["settings"]["temperature"]) == ("gpt-4o", "call-1", 0.5)
    assert SECRET not in str(place.sql("SELECT to_jsonb(judgment_exchanges)::text FROM judgment_exchanges"))
    agent = Agent(UUID(int=1), "reader", frozenset(Scope))
    with pytest.raises(Forbidden):
        judgments.get_exchanges(services, agent, debate.id, one.id)
    with pytest.raises(NotFound, match="no judgment"):
        judgments.get_exchanges(services, OPERATOR, debate.id, UUID(int=7))

    age_exchanges(place, 40)
    before, found = maintenance.count_old_records(services, "exchanges", timedelta(days=30))
    assert found == 1
    assert sum(maintenance.prune_records(services, "exchanges", before)) == 1
    with pytest.raises(NotFound, match="No exchange is stored"):
        judgments.get_exchanges(services, OPERATOR, debate.id, one.id)
    assert judged(services, debate) == [one]
