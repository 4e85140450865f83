"""What a model is sent begins with what an earlier call of its debate was sent, as far as the two can be the same."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from test_model_prompts import HOSTILE, brief_of

from app.core.brief import Brief
from app.core.debate import Cursor, Turn, TurnType
from app.core.material import Material
from app.core.players import JudgeOrder
from app.core.quotes import Document
from app.core.schedules import BUILT_IN, FINAL_RULING, ROUNDS, SIMULTANEOUS, Schedule, StepKind
from app.core.seats import Seat
from worker.players.models.prompt import document, instructions, task

TEXT = "The mill was closed in 1987. " * 100
ANSWERS = {"proposer": "The town owns it", "opponent": "The family owns it"}
ROUND_COUNT = 3
KINDS = {
    StepKind.SPEECH: TurnType.CLAIM,
    StepKind.QUESTION: TurnType.QUESTION,
    StepKind.RULING: TurnType.RULING,
}
in_every_format = pytest.mark.parametrize("form", BUILT_IN.values(), ids=str)


def calls_of(form: Schedule, material: Material | None = None) -> Iterator[Brief]:
    """A debate of three rounds in which everybody says something else each time, some of it hostile."""
    brief = brief_of("Who owns the mill?", form=form)
    brief = replace(brief, document=Document(TEXT) if material and material.document_hash else None)
    debate = brief.debate.evolve(material=material)
    turns: list[Turn] = []
    for number in range(1, (form.fixed or ROUND_COUNT) + 1):
        for step in form.round(number, ROUND_COUNT).steps:
            now = debate.evolve(cursor=Cursor(number, step.seat), turn_count=len(turns) + 1)
            yield replace(brief, debate=now, turns=tuple(turns))
            said = f"{len(turns)} {HOSTILE[len(turns) % len(HOSTILE)]}"
            turns.append(Turn(uuid4(), debate.id, len(turns) + 2, number, step.seat, KINDS[step.kind], said, "x"))


def sent(brief: Brief, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> str:
    return f"{instructions(brief)}\0{document(brief, 100_000, order).text}\n\n{task(brief, 4096)}"


@in_every_format
@pytest.mark.parametrize("answers", [None, ANSWERS])
@pytest.mark.parametrize("seats", [None, tuple(Seat)])
def test_each_call_begins_with_all_that_can_be_the_same_as_in_an_earlier_one(
    form: Schedule, answers: dict[str, str] | None, seats: tuple[Seat, ...] | None
) -> None:
    material = Material("ab" * 32 if seats else None, len(TEXT), seats or (), answers) if seats or answers else None
    earlier: list[Brief] = []
    for brief in calls_of(form, material):
        whole, shown = sent(brief), document(brief, 100_000)
        assert "".join(shown.parts) == shown.text
        for before in earlier:
            # All turns that both were shown, in the seat of whoever it is.
            common = 1 + min(len(brief.recent), len(before.recent))
            shared = f"{instructions(before)}\0{''.join(document(before, 100_000).parts[:common])}"
            assert whole.startswith(shared)
            assert all(turn.content.split()[0] in shared for turn in brief.recent[: common - 1])
        earlier.append(brief)


@in_every_format
def test_the_instructions_are_the_same_in_every_seat_and_round(form: Schedule) -> None:
    told = [instructions(brief) for brief in calls_of(form, Material("ab" * 32, len(TEXT), (Seat.PROPOSER,), ANSWERS))]
    assert len(set(told)) == 1
    assert "You are the" not in told[0]


@pytest.mark.parametrize("answers", [None, ANSWERS])
def test_the_two_orders_of_a_judge_share_the_document_and_the_question(answers: dict[str, str] | None) -> None:
    *_, brief = calls_of(FINAL_RULING, Material("ab" * 32, len(TEXT), tuple(Seat), answers))
    first, second = sent(brief, JudgeOrder.AS_SPOKEN), sent(brief, JudgeOrder.SWAPPED)
    assert first != second
    length = next(place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    assert TEXT in first[:length]
    assert "Who owns the mill?" in first[:length]
    assert ANSWERS["proposer"] not in first[:length]


def test_a_seat_without_the_document_is_not_shown_it_in_any_part() -> None:
    for brief in calls_of(ROUNDS, Material("ab" * 32, len(TEXT), (Seat.PROPOSER, Seat.OPPONENT), None)):
        is_judge = brief.seat is Seat.ARBITRATOR
        assert ("closed in 1987" in sent(brief)) == (not is_judge)
        assert ("You are not shown the document" in task(brief, 1000)) == is_judge


def test_a_turn_of_the_same_simultaneous_round_is_not_shown_in_any_part() -> None:
    # In these texts the number of a turn is what begins it.
    for brief in calls_of(SIMULTANEOUS):
        hidden = [turn for turn in brief.turns if turn not in brief.recent]
        assert bool(hidden) == (brief.seat is Seat.OPPONENT)
        assert not any(f'"text": "{turn.content.split()[0]} ' in sent(brief) for turn in hidden)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_follows_the_debate_is_the_same_whatever_was_said(hostile: str) -> None:
    """No text can write the last line of the document, nor anything after it."""
    quiet, loud = (brief_of("M", text, seat=Seat.OPPONENT) for text in ("Quiet", f'{hostile}\n}}\n\n{hostile}"\n}}\n'))
    told = [sent(brief).split("\n}\n") for brief in (quiet, loud)]
    assert [len(parts) for parts in told] == [2, 2]
    assert told[0][1] == told[1][1]
