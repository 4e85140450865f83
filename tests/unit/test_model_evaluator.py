"""What a model is shown of a contribution, and what it may answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_model_prompts import any_text

from app.core.guardrail.opinion import GuardrailVerdict, Severity, Text
from worker.evaluators.model import LONGEST_REASON, MOST_REASONS, Assessment, document
from worker.players.models.answers import UnusableAnswer, read


@given(content=any_text, links=st.lists(any_text, max_size=3))
def test_whatever_is_said_the_document_has_the_same_structure_and_gives_it_back(content, links):
    shown = document(Text(content, tuple(links)))
    assert json.loads(shown) == {"content": content, "evidence_links": links}
    assert len(shown.split("\n")) == 4
    assert "<" not in shown
    assert ">" not in shown
    assert (shown.count("["), shown.count("]")) == (1, 1)


def opinion(**answer):
    return read(json.dumps(answer), Assessment).opinion


def test_a_verdict_comes_with_its_reasons():
    approved = opinion(reasons=["Nothing to object to."], verdict="approved")
    assert (approved.verdict, approved.reasons) == (GuardrailVerdict.APPROVED, ())
    for verdict, severity in (("rejected", Severity.REJECT), ("flagged", Severity.FLAG)):
        found = opinion(reasons=["It insults the mayor.", "And her driver."], verdict=verdict)
        assert found.verdict == verdict
        assert [(reason.rule, reason.severity, reason.message) for reason in found.reasons] == [
            ("model", severity, "It insults the mayor."),
            ("model", severity, "And her driver."),
        ]


def test_reasons_are_few_short_and_legible():
    found = opinion(reasons=["a\u0000b\n\n\u001b[2Jc\u2028d", " \t", *(9 * ["x" * 1000])], verdict="flagged")
    assert len(found.reasons) == MOST_REASONS
    assert found.reasons[0].message == "a b [2Jc d"
    assert found.reasons[1].message == "x" * LONGEST_REASON


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"reasons": [], "verdict": "rejected"}, "no reason was given"),
        ({"reasons": [" ", "\x00"], "verdict": "flagged"}, "no reason was given"),
        ({"reasons": [], "verdict": "fine"}, "verdict: Input should be 'approved', 'rejected' or 'flagged'"),
        ({"verdict": "approved"}, "reasons: Field required"),
        ({"reasons": "none", "verdict": "approved"}, "reasons: Input should be a valid array"),
        ({}, "reasons: Field required"),
    ],
    ids=["no-reason", "blank-reasons", "another-verdict", "no-reasons", "one-reason", "nothing"],
)
def test_what_is_no_verdict_is_never_taken_for_one(answer, words):
    with pytest.raises(UnusableAnswer, match=words):
        opinion(**answer)
