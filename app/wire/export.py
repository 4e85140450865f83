"""Exports a transcript as JSON, Markdown or HTML.

All are generators: a transcript can be larger than what a process should hold in memory or render without a pause.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from app.core.debate import HELD_ELSEWHERE, Debate, Turn, TurnType, is_held_elsewhere, stop_words
from app.core.verdicts import TIE, Verdict, VerdictScope, scores_in_words
from app.wire import markdown
from app.wire.debates import ArgumentShape, DebateShape, time_json
from app.wire.texts import legible


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
            judged = f"**{_judged(turn, turn.verdict)}:** {_outcome(turn.verdict)}"
            yield f"\n{judged}\n\n{_quoted(turn.verdict.reasoning)}\n"


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
        verdict = f"<p class=verdict>{_escaped(_verdict(turn, turn.verdict))}</p>" if turn.verdict else ""
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
    kind = "" if turn.type is TurnType.CLAIM else f", {turn.type.lower()}"
    where = "" if turn.round is None else f" (round {turn.round})"
    return f"{turn.seq}. {turn.seat.role.capitalize()}{kind}{where}{by}"


def _facts(debate: Debate) -> str:
    seats = ", ".join(f"{seat.role}: {setup.player}" for seat, setup in debate.seats.items())
    return f"{_how(debate)} · {seats} · {time_json(debate.created_at)} · {debate.id}"


def _how(debate: Debate) -> str:
    """Whether it runs, or how it ended."""
    status = debate.status.capitalize()
    if debate.stop_reason is None:
        return status
    if is_held_elsewhere(debate.stop_reason, debate.turn_count):
        return f"{status}: {HELD_ELSEWHERE}"
    return f"{status}: {stop_words(debate.stop_reason, debate.stop_note)}"


def _result(debate: Debate) -> str:
    """The verdict of the debate, and the standing of its rounds; empty where nobody has judged."""
    parts = [f"{_WHOLE}: {_outcome(debate.verdict)}."] if debate.verdict else []
    if debate.standing:
        rounds = f"{debate.standing.rounds} judged round{'' if debate.standing.rounds == 1 else 's'}"
        scores = _scores(debate.standing.scores)
        ahead = "even" if debate.standing.leader == TIE else f"{debate.standing.leader} ahead"
        parts.append(f"Mean of {rounds}: {scores}." if debate.is_closed else f"After {rounds}: {ahead} ({scores}).")
    return " ".join(parts)


def _judged(turn: Turn, verdict: Verdict) -> str:
    """What a ruling's verdict judges."""
    if verdict.scope is VerdictScope.DEBATE:
        return _WHOLE
    return "Verdict so far" if turn.round is None else f"Verdict of round {turn.round}"


def _verdict(turn: Turn, verdict: Verdict) -> str:
    return f"{_judged(turn, verdict)}: {_outcome(verdict)}. {verdict.reasoning}"


def _outcome(verdict: Verdict) -> str:
    return f"{verdict.winner} ({_scores(verdict.scores)})"


def _scores(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{side} {score}" for side, score in scores_in_words(scores).items())


_WHOLE = "Verdict of the debate"
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;"
    "padding:0 1rem;overflow-wrap:break-word}section{border-left:4px solid gray;padding-left:1rem}.plain{white-space:"
    "pre-wrap}pre,.wide{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid gray;padding:.2rem .5rem}"
    ".host{opacity:.75}.proposer{border-color:teal}.opponent{border-color:purple}.arbitrator{border-color:goldenrod}"
    ".verdict{font-weight:600}"
)
