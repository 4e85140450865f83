"""A transcript as a document: JSON for programs, Markdown and HTML for people."""

import json
import re
from html import escape

from app.core.debate import Debate, Turn, TurnType, Verdict
from app.wire import argument_json, debate_json, time_json


def as_json(debate: Debate, turns: tuple[Turn, ...]) -> str:
    document = {"debate": debate_json(debate), "arguments": [argument_json(turn) for turn in turns]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def as_markdown(debate: Debate, turns: tuple[Turn, ...]) -> str:
    parts = [f"# {_one_line(_without_tags(debate.title))}", _facts(debate)]
    for turn in turns:
        parts += [f"## {_heading(turn)}", _quoted(turn.content)]
        if turn.verdict:
            parts += [f"**Verdict:** {_outcome(turn.verdict)}", _quoted(turn.verdict.reasoning)]
    return "\n\n".join(parts) + "\n"


def as_html(debate: Debate, turns: tuple[Turn, ...]) -> str:
    body = []
    for turn in turns:
        verdict = f"<p class=verdict>{_escaped(_verdict(turn.verdict))}</p>" if turn.verdict else ""
        body.append(
            f'<section id="turn-{turn.seq}" class="{turn.seat.role}"><h2>{escape(_heading(turn))}</h2>'
            f"<p>{_escaped(turn.content)}</p>{verdict}</section>"
        )
    title = _escaped(debate.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1><p>{escape(_facts(debate))}</p>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _quoted(text: str) -> str:
    """Line by line, so that a heading or a rule inside somebody's words does not become one of ours."""
    return "\n".join(f"> {line}" for line in _without_tags(text).splitlines())


def _without_tags(text: str) -> str:
    """Markdown passes HTML through, and a closing tag would end even a quotation."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text.translate(_DRAWN))


def _escaped(text: str) -> str:
    return escape(text.translate(_DRAWN))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _heading(turn: Turn) -> str:
    # A username has letters, digits, dots and dashes only: nothing that Markdown would read.
    by = f", by {turn.agent.username}" if turn.agent else ""
    if turn.type is TurnType.MOTION:
        return f"Motion{by}"
    kind = "" if turn.type is TurnType.CLAIM else f", {turn.type.lower()}"
    where = "" if turn.round is None else f" (round {turn.round})"
    return f"{turn.seq}. {turn.seat.role.capitalize()}{kind}{where}{by}"


def _facts(debate: Debate) -> str:
    reason = f" ({debate.stop_reason})" if debate.stop_reason else ""
    seats = ", ".join(f"{seat.role}: {setup.player}" for seat, setup in debate.seats.items())
    return f"{debate.status}{reason} · {seats} · {time_json(debate.created_at)} · {debate.id}"


def _verdict(verdict: Verdict) -> str:
    return f"{_outcome(verdict)}. {verdict.reasoning}"


def _outcome(verdict: Verdict) -> str:
    scores = f"proposer {verdict.scores['proposer']:g}, opponent {verdict.scores['opponent']:g}"
    return f"{verdict.winner} ({scores})"


_DRAWN: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"},
    **dict.fromkeys(range(0x7F, 0xA0), "\N{REPLACEMENT CHARACTER}"),
}
"""Control characters as pictures of themselves: a terminal would obey them, and a page may not hold them."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;"
    "padding:0 1rem}section p{white-space:pre-wrap;overflow-wrap:anywhere}section{border-left:4px solid gray;"
    "padding-left:1rem}.proposer{border-color:teal}.opponent{border-color:purple}.arbitrator{border-color:goldenrod}"
    ".verdict{font-weight:600}"
)
