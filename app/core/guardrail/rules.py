"""The default evaluator: all rules in order."""

from collections.abc import Callable, Iterator

from app.core.guardrail.instructions import instructions_to_a_model
from app.core.guardrail.length import says_too_little
from app.core.guardrail.links import bad_links
from app.core.guardrail.opinion import Finding, Opinion, Text
from app.core.guardrail.personal import personal_data
from app.core.guardrail.secrets import leaked_secrets
from app.core.guardrail.spam import spam

VERSION = "rules/2"
"""Recorded with each verdict. A changed rule needs a new version."""
Rule = Callable[[Text], Iterator[Finding]]
_FOR_EVERY_TEXT: tuple[Rule, ...] = (bad_links, leaked_secrets, personal_data, spam, instructions_to_a_model)


class RuleEvaluator:
    name = VERSION

    def evaluate(self, text: Text) -> Opinion:
        return Opinion.of(finding for rule in (says_too_little, *_FOR_EVERY_TEXT) for finding in rule(text))


def opinion_of_turn(content: str) -> Opinion:
    """Without the rule of length: a turn may be as short as "I agree."."""
    return Opinion.of(finding for rule in _FOR_EVERY_TEXT for finding in rule(Text(content)))
