"""The default evaluator: all rules in order."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from app.core.guardrail.hidden import hidden_text
from app.core.guardrail.instructions import instructions_to_a_model
from app.core.guardrail.length import says_too_little
from app.core.guardrail.links import bad_links
from app.core.guardrail.normal import normal
from app.core.guardrail.opinion import Finding, Opinion, Text
from app.core.guardrail.personal import personal_data
from app.core.guardrail.secrets import leaked_secrets
from app.core.guardrail.spam import spam

VERSION = "rules/3"
"""Recorded with each verdict. A changed rule needs a new version."""
Rule = Callable[[Text], Iterator[Finding]]
_AS_WRITTEN: tuple[Rule, ...] = (hidden_text,)
_AS_WRITTEN_AND_AS_READ: tuple[Rule, ...] = (bad_links, leaked_secrets, personal_data, spam, instructions_to_a_model)


class RuleEvaluator:
    name = VERSION

    def evaluate(self, text: Text) -> Opinion:
        too_little = () if text.may_be_short else says_too_little(text)
        return Opinion.of((*too_little, *_findings(text)))


def _findings(text: Text) -> list[Finding]:
    """Each once, whichever form of the text has it."""
    as_read = replace(text, content=normal(text.content))
    forms = (text,) if as_read == text else (text, as_read)
    found = [finding for rule in _AS_WRITTEN for finding in rule(text)]
    found += [finding for form in forms for rule in _AS_WRITTEN_AND_AS_READ for finding in rule(form)]
    return list(dict.fromkeys(found))
