"""The prompt of a turn: `instructions` for the seat, and `document`, which holds the debate.

The instructions come from the files in `prompts/`, one folder per version: a change that could change how models argue
makes a new folder, so that measurements taken with an old one stay comparable.

The document is JSON and holds the whole debate, as far as that fits into the model's context. What participants said
is only ever a JSON string in it. Quotes and line breaks are escaped, so no text can end its string; so are the
characters of chat templates' control words (`<|im_end|>`, `[/INST]` …), because a server that applies a template would
otherwise take them for its own.
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
from app.core.prompt_sets import BASE, FILES, PromptSet, hash_of
from app.core.quotes import Quote
from app.core.seats import Seat
from app.core.verdicts import SIDES

LONGEST_WORDS = 300
_MOTIONS_LANGUAGE = "the language of the motion"
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


@cache
def built_in(version: str = BASE) -> Prompts:
    texts = {name: (_FOLDER / version / f"{name}.md").read_text(encoding="utf-8").strip() for name in FILES}
    return Prompts(hash_of(version, texts), {name: Template(text) for name, text in texts.items()})


def prompts_of(stored: PromptSet) -> Prompts:
    own = {name: Template(text.strip()) for name, text in stored.files.items()}
    base = built_in(stored.base)
    return Prompts(stored.hash, {name: own.get(name) or base[name] for name in FILES})


def instructions(brief: Brief, max_tokens: int, prompts: Prompts | None = None) -> str:
    """Contains nothing from participants; the persona and the language come from the creator of the debate."""
    prompts = prompts or built_in()
    debate, seat, persona = brief.debate, brief.seat, brief.setup.persona
    last = debate.limits.max_rounds
    wording = {
        "words": min(LONGEST_WORDS, max(20, int(max_tokens * _WORDS_PER_TOKEN))),
        "language": f"this language: {as_json_string(debate.language)}" if debate.language else _MOTIONS_LANGUAGE,
        "persona_language": " unless your persona says otherwise" if persona else "",
    }
    rules = prompts[f"rules-{debate.format.value}"].safe_substitute(
        seat=seat.role, round=debate.cursor.round, of_rounds=f" of at most {last}" if last else ""
    )
    filled = prompts["question" if brief.asks else seat.role].safe_substitute(
        wording,
        rules=rules,
        task=prompts[_task(brief)].safe_substitute(round=debate.cursor.round),
        document="\n\n".join(prompts[name].safe_substitute() for name in ("document", *_material(brief))),
        manners=prompts["manners"].safe_substitute(wording),
        persona=prompts["persona"].safe_substitute(persona=as_json_string(persona)) if persona else "",
        choice=prompts["proposers-choice"].safe_substitute() if brief.may_choose_its_move else "",
    )
    return "\n\n".join(part for part in (block.strip() for block in filled.split("\n\n")) if part)


def _material(brief: Brief) -> list[str]:
    """The files that tell of the document and of the answers, if the debate has any."""
    material, judges = brief.debate.material, brief.seat is Seat.ARBITRATOR
    files: list[str] = []
    if material and material.document_hash:
        shown = "material-judge" if judges else "material"
        files.append(shown if brief.shown_document is not None else "material-hidden")
    if material and material.answers:
        files.append("answers")
    return files


def _task(brief: Brief) -> str:
    """What the arbitrator is asked to judge."""
    if not brief.debate.format.facts.has_rounds:
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

    text: str
    is_shortened: bool
    """Not all of it fitted: turns were shortened or left out."""
    kept: str | None = None
    """What is stored of the text where the debate has a document: with the document's hash in its place."""


def document(brief: Brief, context_tokens: int, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> ShownText:
    room = context_tokens * BYTES_PER_TOKEN
    motion, motion_cut = _shortened(brief.motion.content, room // 3)
    about, about_cut = _shortened(brief.shown_document or "", room // 2)
    shown = _within(brief.recent, room - len(motion.encode()) - len(about.encode()))
    left_out = len(brief.recent) - len(shown)
    left_out += 0 if brief.is_whole else brief.debate.turn_count - 1 - len(brief.turns)
    is_shortened = motion_cut or about_cut or left_out > 0 or any(cut for _, _, cut in shown)
    if order is JudgeOrder.SWAPPED:
        shown = _swapped(shown)
    material = brief.debate.material
    told = as_json_string(about) if about else None
    lines = [
        "{",
        f' "motion": {as_json_string(motion)},',
        *([f' "answers": {_answers(material.answers)},'] if material and material.answers else []),
        *([f' "document": {told},'] if told else []),
        *([' "document_shortened": true,'] if about_cut else []),
        *([f' "earlier_turns_left_out": {left_out},'] if left_out else []),
        ' "turns": [',
        ",\n".join(_line(turn, text, cut) for turn, text, cut in shown),
        " ]",
        "}",
    ]
    text = "\n".join(line for line in lines if line)
    kept = text.replace(told, as_json_string(f"sha256:{brief.shown_document_hash}"), 1) if told else None
    return ShownText(text, is_shortened, kept)


def _line(turn: Turn, text: str, cut: bool) -> str:
    head: dict[str, Any] = {} if turn.round is None else {"round": turn.round}
    head |= {"seat": turn.seat.role, "kind": turn.type.lower()}
    if cut:
        head["shortened"] = True
    quotes = f', "quotes": [{", ".join(_quote(quote) for quote in turn.quotes)}]' if turn.quotes else ""
    return f'  {json.dumps(head)[:-1]}, "text": {as_json_string(text)}{quotes}}}'


def _quote(quote: Quote) -> str:
    return f'{{"text": {as_json_string(quote.text)}, "verified": {json.dumps(quote.verified)}}}'


def _answers(answers: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'"{side}": {as_json_string(answers[side])}' for side in SIDES) + "}"


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
