"""The debate as a model is shown it: one JSON document, bounded however long the debate is.

What participants said is only ever a JSON string in it. Quotes and line breaks are escaped, so no text can end its
string; and so are the characters that chat templates build their control words from (`<|im_end|>`, `[/INST]` …),
because a server that puts a template around the message would otherwise take them for its own.
"""

import json
from collections.abc import Sequence
from typing import Any

from app.core.brief import Brief
from app.core.debate import Turn
from app.core.players import JudgeOrder
from app.core.seats import Seat
from worker.players.models.adapter import BYTES_PER_TOKEN

WHOLE_TURNS = 4
"""The last turns are shown whole, as far as they fit; those before them shortened."""
SHORT_BYTES = 600
LEAST_BYTES = 120
"""Less of a turn than this says nothing: it is left out."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>[]"}


def as_json_string(text: str) -> str:
    """A JSON string in which nothing looks like the end of it, or like a word of a chat template."""
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def document(brief: Brief, context_tokens: int, order: JudgeOrder = JudgeOrder.AS_SPOKEN) -> str:
    room = context_tokens * BYTES_PER_TOKEN
    motion, _ = _shortened(brief.motion.content, room // 3)
    shown = _within(brief.recent, room - len(motion.encode()))
    left_out = len(brief.recent) - len(shown)
    left_out += brief.debate.turn_count - 1 - len(brief.recent)
    if order is JudgeOrder.SWAPPED:
        shown = _swapped(shown)
    lines = [
        "{",
        f' "motion": {as_json_string(motion)},',
        *([f' "earlier_turns_left_out": {left_out},'] if left_out else []),
        ' "turns": [',
        ",\n".join(_line(turn, text, cut) for turn, text, cut in shown),
        " ]",
        "}",
    ]
    return "\n".join(line for line in lines if line)


def _line(turn: Turn, text: str, cut: bool) -> str:
    head: dict[str, Any] = {} if turn.round is None else {"round": turn.round}
    head |= {"seat": turn.seat.role, "kind": turn.type.lower()}
    if cut:
        head["shortened"] = True
    return f'  {json.dumps(head)[:-1]}, "text": {as_json_string(text)}}}'


_Shown = tuple[Turn, str, bool]


def _within(turns: Sequence[Turn], room: int) -> list[_Shown]:
    """From the newest back, for as long as there is room."""
    latest = turns[-WHOLE_TURNS:]
    fits = sum(len(turn.content.encode()) for turn in latest) <= room
    most = room if fits else room // max(1, len(latest))
    shown: list[_Shown] = []
    for number, turn in enumerate(reversed(turns)):
        text, cut = _shortened(turn.content, min(room, most if number < WHOLE_TURNS else SHORT_BYTES))
        if cut and len(text.encode()) < LEAST_BYTES:
            break
        room -= len(text.encode())
        shown.append((turn, text, cut))
    return shown[::-1]


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
