"""The prompt of a turn, ordered by how seldom its parts change, so that each call begins with the bytes of an earlier
one: `instructions` for every seat, `document` with the debate, and `task` for the seat whose turn it is.

The instructions and the task come from the files in `prompts/`, one folder per version: a change that could change how
models argue makes a new folder, so that measurements taken with an old one stay comparable.

The document is JSON and holds the whole debate, as far as that fits into the model's context. What participants said
is only ever a JSON string in it. Quotes and line breaks are escaped, so no text can end its string; so are the
characters of chat templates' control words (`<|im_end|>`, `[/INST]` …), because a server that applies a template would
otherwise take them for its own. No line of a text is therefore a line of the prompt: the task follows the last line of
the document, which no text can imitate.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from app.core.brief import Brief
from app.core.debate import Turn
from app.core.model_calls import BYTES_PER_TOKEN
from app.core.players import JudgeOrder
from app.core.prompt_sets import BASE, WITH_ANSWERS, PromptSet, hash_of
from app.core.quotes import Quote
from app.core.seats import Seat
from app.core.verdicts import SIDES, sides_shown
from app.words.schedules import order_of_speech

LONGEST_WORDS = 300
LETTERS = ("A", "B")
"""What a judge calls the two answers, in the order in which it is shown them."""
_WORDS_PER_TOKEN = 0.5
"""A low estimate over many languages, so that an answer within the words is also within max_tokens."""

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompts:
    """One set, ready to be filled in: its own files, and the built-in ones that it lacks."""

    hash: str
    _files: Mapping[str, Template]

    def __getitem__(self, name: str) -> Template:
        return self._files[name]

    def for_debate(self, brief: Brief, name: str) -> Template:
        """This file; in a debate with answers the one that takes its place, if there is one."""
        instead = f"{WITH_ANSWERS}{name}" if brief.debate.answers else name
        return self._files.get(instead) or self._files[name]

    def with_files_of(self, stored: PromptSet) -> "Prompts":
        own = {name: Template(text.strip()) for name, text in stored.files.items()}
        return Prompts(stored.hash, {**self._files, **own})


@cache
def built_in(version: str = BASE) -> Prompts:
    texts = {path.stem: path.read_text(encoding="utf-8").strip() for path in (_FOLDER / version).glob("*.md")}
    return Prompts(hash_of(version, texts), {name: Template(text) for name, text in texts.items()})


def prompts_of(stored: PromptSet) -> Prompts:
    return built_in(stored.base).with_files_of(stored)


def instructions(brief: Brief, prompts: Prompts | None = None) -> str:
    """The same for every seat and round of a debate. Contains nothing from participants; the language comes from the
    creator of the debate."""
    prompts = prompts or built_in()
    debate, answers = brief.debate, brief.debate.answers is not None
    about = [prompts.for_debate(brief, "document")]
    if debate.material and debate.material.document_hash:
        about.append(prompts["material"])
    language = f"this language: {as_json_string(debate.language)}" if debate.language else None
    return _filled(
        prompts.for_debate(brief, "system"),
        rules=prompts["rules"].safe_substitute(
            order=order_of_speech(debate.schedule, debate.limits.max_rounds, answers)
        ),
        document="\n\n".join(each.safe_substitute() for each in about),
        manners=prompts["manners"].safe_substitute(
            language=language or f"the language of the {'question' if answers else 'motion'}"
        ),
    )


def task(brief: Brief, max_tokens: int, prompts: Prompts | None = None) -> str:
    """Contains nothing from participants; the persona comes from the creator of the debate."""
    prompts = prompts or built_in()
    debate, seat, persona = brief.debate, brief.seat, brief.setup.persona
    place = {"seat": seat.role, "round": debate.cursor.round}
    last = debate.limits.max_rounds
    return _filled(
        _seat_file(brief, prompts),
        seat=seat.role,
        other="opponent" if seat is Seat.PROPOSER else "proposer",
        turn=prompts["turn"].safe_substitute(place, of_rounds=f" of at most {last}" if last else ""),
        task=prompts.for_debate(brief, _judged(brief)).safe_substitute(place),
        shown="\n\n".join(each.safe_substitute() for each in _about_what_is_shown(brief, prompts)),
        words=min(debate.max_words or LONGEST_WORDS, max(20, int(max_tokens * _WORDS_PER_TOKEN))),
        persona=prompts["persona"].safe_substitute(persona=as_json_string(persona)) if persona else "",
        choice=prompts["proposers-choice"].safe_substitute() if brief.may_choose_its_move else "",
    )


def _filled(template: Template, **variables: object) -> str:
    blocks = template.safe_substitute(variables).split("\n\n")
    return "\n\n".join(part for part in (block.strip() for block in blocks) if part)


def _seat_file(brief: Brief, prompts: Prompts) -> Template:
    """The file of the seat that the others are filled into."""
    if brief.seat is not Seat.ARBITRATOR and brief.asks:
        return prompts["debaters-question"]
    if brief.seat is not Seat.ARBITRATOR and brief.debate.answers:
        return prompts[f"{WITH_ANSWERS}debater"]
    return prompts.for_debate(brief, "question" if brief.asks else brief.seat.role)


def _about_what_is_shown(brief: Brief, prompts: Prompts) -> list[Template]:
    """What is not the same for every seat."""
    material = brief.debate.material
    files = []
    if material and material.document_hash and brief.shown_document is None:
        files.append("material-hidden")
    if material and material.answers:
        files.append(f"{WITH_ANSWERS}judge" if brief.rules else "answers")
    return [prompts[name] for name in files]


def _judged(brief: Brief) -> str:
    """The file that says what the arbitrator is asked to judge."""
    if not brief.debate.schedule.has_rounds:
        return "judge-answers"
    return "judge-debate" if brief.debate.ruling_closes else "judge-round"


WHOLE_TURNS = 4
"""The last turns are the last to be shortened."""
SHORT_BYTES = 600
"""What is left of a turn that is shortened, at least."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>[]"}


def as_json_string(text: str) -> str:
    """A JSON string in which nothing looks like the end of it, or like a word of a chat template."""
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


@dataclass(frozen=True, slots=True)
class ShownText:
    """What a model is shown of a debate."""

    parts: tuple[str, ...]
    """What comes before the turns, each turn, and the end. A later call repeats all but the last."""
    is_shortened: bool
    """Not all of it fitted: turns were shortened or left out."""
    kept: str | None = None
    """What is stored of the text where the debate has a document: with the document's hash in its place."""

    @property
    def text(self) -> str:
        return "".join(self.parts)


def document(brief: Brief, context_tokens: int, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> ShownText:
    """Judges and debaters share it up to the answers, which stand after the turns: a judge sees them under letters."""
    room = context_tokens * BYTES_PER_TOKEN
    motion, motion_cut = _shortened(brief.motion.content, room // 3)
    about, about_cut = _shortened(brief.shown_document or "", room // 2)
    shown = _within(brief.recent, room - len(motion.encode()) - len(about.encode()))
    left_out = len(brief.recent) - len(shown)
    left_out += 0 if brief.is_whole else brief.debate.turn_count - 1 - len(brief.turns)
    is_shortened = motion_cut or about_cut or left_out > 0 or any(cut for _, _, cut in shown)
    if order is JudgeOrder.SWAPPED:
        shown = _swapped(shown)
    answers = brief.debate.answers
    told = as_json_string(about) if about else None
    head = [
        "{",
        *([f' "document": {told},'] if told else []),
        *([' "document_shortened": true,'] if about_cut else []),
        f' "{"question" if answers else "motion"}": {as_json_string(motion)},',
        *([f' "earlier_turns_left_out": {left_out},'] if left_out else []),
        ' "turns": [',
    ]
    # The comma belongs to the turn after it: a turn is followed by another one only in later calls.
    turns = [f"{',' if place else ''}\n{_line(*each)}" for place, each in enumerate(shown)]
    end = ["", " ]" + ("," if answers else ""), *(_answers(answers, order if brief.rules else None) if answers else ())]
    parts = ("\n".join(head), *turns, "\n".join([*end, "}"]))
    text = "".join(parts)
    kept = text.replace(told, as_json_string(f"sha256:{brief.shown_document_hash}"), 1) if told else None
    return ShownText(parts, is_shortened, kept)


def _line(turn: Turn, text: str, cut: bool) -> str:
    head: dict[str, Any] = {} if turn.round is None else {"round": turn.round}
    head |= {"seat": turn.seat.role, "kind": turn.type.lower()}
    if cut:
        head["shortened"] = True
    quotes = f', "quotes": [{", ".join(_quote(quote) for quote in turn.quotes)}]' if turn.quotes else ""
    return f'  {json.dumps(head)[:-1]}, "text": {as_json_string(text)}{quotes}}}'


def _quote(quote: Quote) -> str:
    return f'{{"text": {as_json_string(quote.text)}, "verified": {json.dumps(quote.verified)}}}'


def _answers(answers: Mapping[str, str], order: JudgeOrder | None) -> list[str]:
    """A judge who rules names letters, so that the same answer has the other name in the other order. Everybody else
    sees the sides: what they say is shown to judges in both orders."""
    if order is None:
        return [f' "answers": {_object({side: answers[side] for side in SIDES})}']
    letters = dict(zip(sides_shown(order), LETTERS, strict=True))
    lettered = {letter: answers[side] for side, letter in letters.items()}
    return [f' "answers": {_object(lettered)},', f' "defends": {_object(letters)}']


def _object(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {as_json_string(text)}' for name, text in texts.items()) + "}"


_Shown = tuple[Turn, str, bool]


def _within(turns: Sequence[Turn], room: int) -> list[_Shown]:
    """All turns, whole if they fit. If not, the oldest are shortened first, one after the other and no more than is
    needed; then the oldest are left out; and only then are the last few shortened too."""
    excess = sum(len(turn.content.encode()) for turn in turns) - room
    older, excess = _cut(turns[:-WHOLE_TURNS], SHORT_BYTES, excess)
    while older and excess > 0:
        _, text, _ = older.pop(0)
        excess -= len(text.encode())
    latest, _ = _cut(turns[-WHOLE_TURNS:], room // WHOLE_TURNS, excess)
    return older + latest


def _cut(turns: Sequence[Turn], least_bytes: int, excess: int) -> tuple[list[_Shown], int]:
    """Shortens them in order while there is an excess of bytes, none below the least; returns what excess is left."""
    shown: list[_Shown] = []
    for turn in turns:
        size = len(turn.content.encode())
        text, cut = _shortened(turn.content, max(least_bytes, size - excess) if excess > 0 else size)
        excess -= size - len(text.encode())
        shown.append((turn, text, cut))
    return shown, excess


def _shortened(text: str, most_bytes: int) -> tuple[str, bool]:
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text, False
    return encoded[: max(0, most_bytes)].decode(errors="ignore"), True


def _swapped(shown: list[_Shown]) -> list[_Shown]:
    """The opponent of each round before its proposer; everything else stays where it is."""
    swapped = list(shown)
    for place in range(len(swapped) - 1):
        first, second = swapped[place][0], swapped[place + 1][0]
        if first.seat is Seat.PROPOSER and second.seat is Seat.OPPONENT and first.round == second.round:
            swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
    return swapped
