"""No text holds the guardrail for long: what eight times as much text takes is about eight times as long.

Proportions, never seconds, and the process's own CPU time: a busy machine changes neither. The hostile texts are made
from each pattern's own parts, besides those that somebody would try first.
"""

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from re import _constants as op
from re import _parser as parser
from typing import Any

import pytest

from app.core import guardrail
from app.core.guardrail.hidden import hidden_text
from app.core.guardrail.instructions import instructions_to_a_model
from app.core.guardrail.length import says_too_little
from app.core.guardrail.links import bad_links
from app.core.guardrail.opinion import Finding, Text
from app.core.guardrail.personal import personal_data
from app.core.guardrail.rules import RuleEvaluator
from app.core.guardrail.secrets import leaked_secrets
from app.core.guardrail.spam import spam

pytestmark = pytest.mark.long


def all_rules(text: Text) -> list[Finding]:
    """With the normalization, in both forms."""
    return list(RuleEvaluator().evaluate(text).reasons)


SMALL, TIMES = 2_500, 8
MOST_TIMES = 24
"""Quadratic would be 64."""
UNNOTICED_SECONDS = 0.02
"""What the larger text may take whatever the smaller one took. A quadratic pattern takes far longer for it."""
TRIES = 3
RULES = [
    instructions_to_a_model, says_too_little, bad_links, personal_data, leaked_secrets, spam, hidden_text, all_rules,
]  # fmt: skip
UNITS = [
    "\n", " ", "\t", "\r\n", " \n", "a", "A", "aB", "a ", "a.", "a-", "-", "--", ".", "_", "@", "a@", "@a.", "a@a.",
    "a@a.a ", "0", "1 ", "1-", "1.", "+1", "+1 ", " +1111111111111111111111", "1,", "4 1 1 1", "\u0661", "http://",
    "http://a ", "a://", "a:", "http://a@", "http://[", "javascript:", "javascript:a ", "data:", "'", '"', "`", "```",
    "```a", "“", "“a", "”", "«", "»", "\u2018", "\u2018a", "\u2019a", "'a", ">", "\n>", "<", "<|", "[INST", "#",
    "## ", "\n##", "\n## system:", "\n ## ", "system:", "eyJ", "eyJ-", "eyJa.", "eyJ-a.eyJ-", "sk-", "-----BEGIN ",
    "-----BEGIN A ", "A ", "postgres://", "postgres://a:", "xoxb-1", "password", "password=", "password = ",
    "password:\n", "api_key\n", "ignore ", "ignore all ", "ignore all previous ", "judge, ", "you are now ",
    "you are now a-", "reveal the ", "as an ai ", "make $1", "make money ", "casino ", "SSN ", "DE00", "DE00 AAAA ",
    "sk-\n", "db_\n", "dbr_a\n", "\u0301", "\u0301\u0316", "a\u0301\u0327", "\u200b", "\U000e0041", "\ufdfa", "\u0430",
    "\0", "é", "x", "💰", "!", "$", "\u017f", "İ",
]  # fmt: skip


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled pattern of the guardrail's modules, also those in lists and tables."""
    for module in pkgutil.iter_modules(guardrail.__path__, f"{guardrail.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            held = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for number, pattern in enumerate(held):
                if isinstance(pattern, re.Pattern):
                    yield f"{module.name.rsplit('.', 1)[-1]}.{name}[{number}]", pattern


def samples(tree: Any) -> list[str]:
    """Short texts that this part of a pattern takes: one for each of its branches, more or less."""
    found = [""]
    for kind, given in tree:
        found = [before + part for before in found for part in parts_of(kind, given)][:12]
    return found


def parts_of(kind: Any, given: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(given)]
    if kind is op.NOT_LITERAL:
        return ["a" if given != ord("a") else "b"]
    if kind is op.ANY:
        return ["a"]
    if kind is op.IN:
        return members(given)
    if kind is op.BRANCH:
        return [sample for branch in given[1] for sample in samples(branch)[:2]]
    if kind is op.SUBPATTERN:
        return samples(given[3])
    if kind is op.ATOMIC_GROUP:
        return samples(given)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, _, body = given
        return [sample * max(least, 1) for sample in samples(body)]
    return [""]


def members(given: list[Any]) -> list[str]:
    categories = {op.CATEGORY_DIGIT: "1", op.CATEGORY_WORD: "a", op.CATEGORY_SPACE: " ", op.CATEGORY_NOT_SPACE: "a"}
    if given[0][0] is op.NEGATE:
        refused = re.compile(f"[{''.join(re.escape(member) for member in members(given[1:]))}]")
        return [letter for letter in "a1 \n-" if not refused.match(letter)][:2]
    found = []
    for kind, value in given:
        if kind is op.LITERAL:
            found.append(chr(value))
        elif kind is op.RANGE:
            found.append(chr(value[0]))
        elif kind is op.CATEGORY:
            found.append(categories.get(value, "a"))
    return found[:4]


def repeats(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What leads to each repetition in a pattern, and what it repeats."""
    for kind, given in tree:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            for unit in samples(given[2]):
                yield before, unit
            yield from repeats(given[2], before)
        elif kind is op.SUBPATTERN:
            yield from repeats(given[3], before)
        elif kind is op.ATOMIC_GROUP:
            yield from repeats(given, before)
        elif kind is op.BRANCH:
            for branch in given[1]:
                yield from repeats(branch, before)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from repeats(given[1], before)
        before += parts_of(kind, given)[0]


def hostile_to(pattern: re.Pattern[str]) -> dict[str, Callable[[int], str]]:
    tree = parser.parse(pattern.pattern, pattern.flags)
    made: dict[str, Callable[[int], str]] = {}

    def add(start: str, unit: str, end: str) -> None:
        if unit:
            made[f"{start!r}, then {unit!r} without end, then {end!r}"] = lambda size: start + grown(unit, size) + end

    for sample in samples(tree):
        for cut in {len(sample), len(sample) - 1, len(sample) // 2, 3}:
            add("", sample[:cut], "")
            add("", f"{sample[:cut]} ", "")
    for before, unit in repeats(tree):
        for end in ("", "\0", "a"):
            add(before, unit, end)
        add("", before + unit, "")
        add("", f"{before}{unit * 5}\n", "")
        add("", f" {before}{unit * 20}", "")
    return made


def grown(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def seconds(look: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    look(text)
    return time.process_time() - began


def assert_grows_with_the_text(look: Callable[[str], object], text_of: Callable[[int], str], what: str) -> None:
    small, large = text_of(SMALL), text_of(TIMES * SMALL)
    least = least_small = float("inf")
    for _ in range(TRIES):
        least = min(least, seconds(look, large))
        if least <= UNNOTICED_SECONDS:
            return
        least_small = min(least_small, *(seconds(look, small) for _ in range(3)))
        if least <= MOST_TIMES * least_small:
            return
    pytest.fail(f"{what}: {TIMES} times the text takes {least / least_small:.0f} times as long ({least:.3f} s)")


ALL_PATTERNS = dict(patterns())


@pytest.mark.parametrize("name", ALL_PATTERNS)
def test_a_pattern_takes_time_in_proportion_to_what_was_made_to_slow_it_down(name: str) -> None:
    pattern = ALL_PATTERNS[name]
    for what, text_of in hostile_to(pattern).items():
        assert_grows_with_the_text(lambda text: sum(1 for _ in pattern.finditer(text)), text_of, f"{name} on {what}")
    for unit in UNITS:
        text_of = partial(grown, unit)
        assert_grows_with_the_text(lambda text: sum(1 for _ in pattern.finditer(text)), text_of, f"{name} on {unit!r}")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_takes_time_in_proportion_to_the_text(rule: Any) -> None:
    def look(text: str) -> object:
        return list(rule(Text(text)))

    for unit in UNITS:
        for repeated in (unit, f"{unit * 40} a\n"):
            assert_grows_with_the_text(look, partial(grown, repeated), f"{rule.__name__} on {repeated!r}")


def test_the_measure_notices_a_quadratic_pattern() -> None:
    slow = re.compile(r"^\s*#", re.MULTILINE)
    with pytest.raises(pytest.fail.Exception, match="times as long"):
        assert_grows_with_the_text(slow.search, lambda size: "\n" * size, "the old pattern")
    assert ALL_PATTERNS
    assert any("\n" in text_of(100) for text_of in hostile_to(slow).values()), "and finds the text for it by itself"
