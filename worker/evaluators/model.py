"""Evaluates contributions by a model: makes a question of a text, and an opinion of the answer."""

from functools import cache, partial
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from app.core.guardrail.opinion import Finding, Opinion, Severity, Text
from app.core.model_calls import usual_max_tokens
from worker.players.models import answers
from worker.players.models.adapter import Question
from worker.players.models.calls import ModelCalls, nothing, read_answer
from worker.players.models.prompt import as_json_string

PROMPT = "guardrail-v1"
"""Recorded with each verdict. A change that could change verdicts makes a new file."""
RULE = "model"
MOST_REASONS = 5
LONGEST_REASON = 300
_SEVERITY_OF = {"rejected": Severity.REJECT, "flagged": Severity.FLAG}


class Assessment(answers.Answer):
    reasons: list[str]
    verdict: Literal["approved", "rejected", "flagged"]

    @model_validator(mode="after")
    def _a_reason_for_all_but_approval(self) -> Self:
        if self.verdict != "approved" and not any(_legible(reason) for reason in self.reasons):
            raise ValueError("a contribution was not approved, and no reason was given")
        return self

    @property
    def opinion(self) -> Opinion:
        severity = _SEVERITY_OF.get(self.verdict)
        if severity is None:
            return Opinion.of(())
        legible = [words for words in map(_legible, self.reasons) if words]
        return Opinion.of(Finding(RULE, severity, words) for words in legible[:MOST_REASONS])


class ModelEvaluator:
    def __init__(self, calls: ModelCalls, player: str) -> None:
        self._calls = calls
        self._player = player
        self.name = f"{player}/{PROMPT}"

    async def evaluate(self, text: Text) -> Opinion:
        most = usual_max_tokens(self._player)

        async def question() -> Question:
            return Question(self._player, _instructions(), (document(text),), Assessment, most)

        asked, reply = await self._calls.ask(self._player, question, nothing)
        return read_answer(asked, reply, partial(answers.read, shape=Assessment)).opinion


def document(text: Text) -> str:
    """Never shortened: a model cannot approve what it was not shown."""
    links = ", ".join(as_json_string(link) for link in text.links)
    return f'{{\n "content": {as_json_string(text.content)},\n "evidence_links": [{links}]\n}}'


def _legible(reason: str) -> str:
    """Without characters that Postgres cannot store or that would disturb a terminal."""
    printable = "".join(letter if letter.isprintable() else " " for letter in reason)
    return " ".join(printable.split())[:LONGEST_REASON]


@cache
def _instructions() -> str:
    return (Path(__file__).parent / "prompts" / f"{PROMPT}.md").read_text(encoding="utf-8").strip()
