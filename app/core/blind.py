"""What a person sees who judges a debate without knowing who argued: sides without names, in a drawn order, and no
opinion of others."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.core.debate import Debate, Turn, TurnType
from app.core.players import EXTERNAL, JudgeOrder
from app.core.quotes import Quote
from app.core.seats import Seat
from app.core.verdicts import TIE, sides_shown

HIDDEN = "[name hidden]"
_COMMON = frozenset(
    {
        *("base", "chat", "deep", "fast", "flash", "instruct", "large", "latest", "lite", "local", "long", "max"),
        *("medium", "micro", "mini", "model", "nano", "next", "open", "plus", "preview", "pro", "quick", "reasoner"),
        *("reasoning", "scripted", "small", "test", "thinking", "tiny", "turbo", "ultra", "vision"),
    }
)
"""Parts of model names that are also ordinary words."""
_FAMILIES = {
    "alibaba": ("qwen",),
    "anthropic": ("claude",),
    "google": ("bard", "gemini", "gemma"),
    "meta": ("llama",),
    "mistral": ("mixtral",),
    "moonshotai": ("kimi",),
    "openai": ("gpt",),
    "xai": ("grok",),
}
"""What a provider's models call themselves, whatever the name of the one that was asked."""
_VERSION = r"(?:[-_ ]?v?\d+(?:\.\d+)*[a-z]{0,2}(?![^\W_]))?"
"""Of `GPT5`, `gpt-4o`, `Claude 4.5`."""
_SIGNATURE = re.compile(r"\s*\(scripted player, not a model\)\s*$")


@dataclass(frozen=True, slots=True)
class Speech:
    side: int | None
    """1 or 2, in the order in which they are shown; None for a question of the judge."""
    round: int | None
    content: str
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class BlindDebate:
    motion: str
    speeches: tuple[Speech, ...]
    answers: tuple[str, str] | None
    """What the sides 1 and 2 defend."""
    alone: int | None = None
    """The side that argued, where one debater argues alone."""


def shown_order(debate: Debate, drawn: JudgeOrder) -> JudgeOrder:
    """The drawn one, where the debate has two."""
    return drawn if debate.has_two_orders else JudgeOrder.AS_SPOKEN


def blind(
    debate: Debate, motion: Turn, turns: Sequence[Turn], order: JudgeOrder, names: Mapping[str, str]
) -> BlindDebate:
    """`names` are the experiment's contestants and their players."""
    sides = sides_shown(order)
    number = {Seat(side): place for place, side in enumerate(sides, 1)}
    hide = _hiding(names)
    said = [
        Speech(
            number.get(turn.seat),
            turn.round,
            hide(_SIGNATURE.sub("", turn.content)),
            tuple(quote._replace(text=hide(quote.text)) for quote in turn.quotes),
        )
        for turn in turns
        if turn.type in (TurnType.CLAIM, TurnType.QUESTION)
    ]
    # A question follows the speeches of its round; the sides of a round stand in the drawn order.
    said.sort(key=lambda speech: (speech.round or 0, speech.side or 3))
    answers, debaters = debate.answers, debate.schedule.debaters
    return BlindDebate(
        motion.content,
        tuple(said),
        (answers[sides[0]], answers[sides[1]]) if answers else None,
        number[debaters[0]] if len(debaters) == 1 else None,
    )


def winner_of(choice: str, order: JudgeOrder) -> str:
    """The role that the side 1 or 2 of this order is; 0 is a tie."""
    return TIE if choice == "0" else sides_shown(order)[int(choice) - 1]


def _hiding(names: Mapping[str, str]) -> Callable[[str], str]:
    """Hides names of contestants, models and providers in a text: a model may say what it is. Debaters do not know
    the names of contestants, so one that is a plain word (`base`, `strong`) may be in a text by chance, and stays."""
    whole: set[str] = set()
    parts: set[str] = set()
    for contestant, player in names.items():
        if not (contestant.isalpha() and contestant.islower()):
            whole.add(contestant)
        if player != EXTERNAL and ":" in player:
            whole |= {player, player.partition(":")[2]}
            parts |= _parts(player)
    if not whole:
        return str
    # `whole` first: a part would leave the rest of the name.
    forms = _any_of(whole)
    if parts:
        forms = f"{forms}|(?:chat[-_ ]?)?{_any_of(parts)}(?:[-_]?{_any_of(parts)})*{_VERSION}"
    return partial(re.compile(rf"(?<![^\W_])(?:{forms})(?![^\W_])", re.IGNORECASE).sub, HIDDEN)


def _any_of(words: Collection[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})"


def _parts(player: str) -> set[str]:
    found = {part for part in re.findall(r"[a-z]{3,}", player.lower()) if part not in _COMMON}
    return found.union(*(_FAMILIES.get(part, ()) for part in found))
