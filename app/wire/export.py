"""Exports a transcript as JSON, Markdown or HTML.

All are generators: a transcript can be larger than what a process should hold in memory or render without a pause.
"""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape

from app.core.debate import Debate, Turn, TurnType
from app.core.verdicts import Verdict
from app.wire import markdown
from app.wire.debates import ArgumentShape, DebateShape, time_json
from app.wire.texts import legible
from app.words import debates, verdicts
from app.words.players import seat_name
from app.words.sentences import as_start
from app.words.turns import kind


def as_json(debate: Debate, turns: Iterable[Turn]) -> Iterator[str]:
    """One object, formatted like `json.dumps(…, indent=2)`."""
    yield f'{{\n  "debate": {_indented(DebateShape.of(debate), 2)},\n  "arguments": ['
    for number, turn in enumerate(turns):
        yield f"{',' if number else ''}\n    {_indented(ArgumentShape.of(turn), 4)}"
    yield "\n  ]\n}\n"


def as_markdown(debate: Debate, turns: Iterable[Turn]) -> Iterator[str]:
    yield f"# {_one_line(_without_tags(debate.title))}\n\n{_facts(debate)}\n"
    if result := _result(debate):
        yield f"\n{result}\n"
    for turn in turns:
        yield f"\n## {_heading(turn)}\n\n{_quoted(turn.content)}\n"
        if turn.verdict:
            yield f"\n**{verdicts.ruling(turn.verdict, turn.round)}**\n\n{_quoted(turn.verdict.reasoning)}\n"


def as_html(debate: Debate, turns: Iterable[Turn]) -> Iterator[str]:
    title = _escaped(debate.title)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1><p>{escape(_facts(debate))}</p>\n"
    )
    if result := _result(debate):
        yield f"<p class=verdict>{escape(result)}</p>\n"
    for turn in turns:
        verdict = f"<p class=verdict>{_escaped(_verdict(turn.verdict, turn.round))}</p>" if turn.verdict else ""
        yield (
            f'<section id="turn-{turn.seq}" class="{turn.seat.role}"><h2>{escape(_heading(turn))}</h2>'
            f"{markdown.as_html(turn.content)}{verdict}</section>\n"
        )
    yield "</body></html>\n"


def _indented(value: object, by: int) -> str:
    # Newlines inside texts are escaped, so every newline here is formatting.
    return json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n" + " " * by)


def _quoted(text: str) -> str:
    """Quotes every line, so that Markdown inside a turn cannot become a heading or rule of the document."""
    return "\n".join(f"> {line}" for line in _without_tags(text).splitlines())


def _without_tags(text: str) -> str:
    """Escapes tags: Markdown passes HTML through, and a closing tag would end even a quotation."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", legible(text))


def _escaped(text: str) -> str:
    return escape(legible(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _heading(turn: Turn) -> str:
    # A username has only letters, digits, dots, dashes and underscores, and needs no escaping.
    by = f", by {turn.agent.username}" if turn.agent else ""
    if turn.type is TurnType.MOTION:
        return f"Motion{by}"
    what = kind(turn.type)
    where = "" if turn.round is None else f" (round {turn.round})"
    return f"{turn.seq}. {seat_name(turn.seat).capitalize()}{f', {what}' if what else ''}{where}{by}"


def _verdict(verdict: Verdict, round_: int | None) -> str:
    return f"{verdicts.ruling(verdict, round_)}. {verdict.reasoning}"


def _facts(debate: Debate) -> str:
    seats = ", ".join(f"{seat_name(seat)}: {setup.player}" for seat, setup in debate.seats.items())
    how = as_start(debates.ending(debate.status, debate.stop_reason, debate.missed_deadline, debate.imported))
    return f"{how} · {seats} · {time_json(debate.created_at)} · {debate.id}"


def _result(debate: Debate) -> str:
    """The verdict of the debate, and the standing of its rounds; empty without a verdict."""
    parts = [verdicts.ruling(debate.verdict, None)] if debate.verdict else []
    parts += [verdicts.standing(debate.standing, debate.is_closed)] if debate.standing else []
    return "".join(f"{part}. " for part in parts).rstrip()


_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;"
    "padding:0 1rem;overflow-wrap:break-word}section{border-left:4px solid gray;padding-left:1rem}.plain{white-space:"
    "pre-wrap}pre,.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid gray;padding:.2rem .5rem}"
    ".host{opacity:.75}.proposer{border-color:teal}.opponent{border-color:purple}.arbitrator{border-color:goldenrod}"
    ".verdict{font-weight:600}"
)
