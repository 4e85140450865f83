"""Formats: their titles, and who speaks when in plain English."""

from itertools import groupby

from app.core.schedules import Round, RoundStep, Schedule, StepKind
from app.core.seats import Seat

_DOES = {StepKind.SPEECH: "speaks", StepKind.QUESTION: "asks a question", StepKind.RULING: "rules"}


def title(name: str) -> str:
    """ "Final ruling" for `final_ruling`."""
    return name.replace("_", " ").capitalize()


def order_of_speech(schedule: Schedule, max_rounds: int | None, asks_which_answer: bool = False) -> str:
    """The rules of a debate of so many rounds: who speaks when, in how many words, and who is shown what."""
    motion = "question" if asks_which_answer else "motion"
    if not schedule.has_rounds:
        read = "the question and its two answers, and rules" if asks_which_answer else "the motion and rules"
        return f"Neither debater speaks. The arbitrator reads {read}."
    sentences = [f"The {motion} counts as the proposer's first speech."] if schedule.motion_is_first_speech else []
    sentences += rounds_in_words(schedule, max_rounds)
    if len(schedule.debaters) == 1:
        [alone] = schedule.debaters
        sentences.append(f"Only the {alone.role} argues; the other side has no speaker.")
    if any(step.kind is StepKind.QUESTION for each in schedule.rounds for step in each.steps):
        sentences.append("A question is answered in the next speech of whoever is asked.")
    if schedule.rules_once:
        sentences.append("The arbitrator rules once, on the whole debate.")
    elif schedule.judge_is_called:
        until = "until they agree or the arbitrator ends the debate" if schedule.is_open_ended else ""
        sentences += [f"The debaters continue {until}."] if until else []
        appeals = " when the proposer appeals" if schedule.appeals else " on an intervention or at a limit"
        sentences.append(f"The arbitrator rules only{appeals}.")
    return " ".join(sentences)


def rounds_in_words(schedule: Schedule, max_rounds: int | None) -> list[str]:
    """A sentence for each stretch of equal rounds."""
    last = schedule.fixed or max_rounds
    first_repeated = len(schedule.opening) + 1
    numbers = range(1, (last or first_repeated) + 1)
    sentences = []
    for this, group in groupby(numbers, lambda number: schedule.round(number, max_rounds)):
        stretch = list(group)
        goes_on = last is None and stretch[-1] == first_repeated
        until = None if goes_on else stretch[-1]
        sentences.append(_sentence(this, _when(stretch[0], until, last, this.name)))
    return sentences


def _when(first: int, until: int | None, last: int | None, name: str | None) -> str:
    if first == 1 and until == last:
        when = "In each round" if last != 1 else "In the one round"
    elif until is None:
        when = f"From round {first} on"
    else:
        when = f"In round {first}" if first == until else f"In rounds {first} to {until}"
    return f"{when} ({name})" if name else when


def _sentence(this: Round, when: str) -> str:
    said = ", then ".join(f"the {step.seat.role} {_does(step)}" for step in this.steps)
    debaters = [step.seat for step in this.steps if step.seat is not Seat.ARBITRATOR]
    hidden = this.simultaneous and len(debaters) > 1
    return f"{when} {said}{'; neither debater is shown what the other says in that round' if hidden else ''}."


def _does(step: RoundStep) -> str:
    return f"{_DOES[step.kind]} in at most {step.words:,} words" if step.words else _DOES[step.kind]
