"""Instructions to a model that may read the text (prompt injection).

Text that instructs a model is rejected. Text that quotes such instructions, as an argument about them must, is flagged
for a person: a model may follow a quotation too.
"""

import re
from collections.abc import Iterator

from app.core.guardrail.normal import unbroken
from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "instructions"
_ORDERS = [
    re.compile(order, re.IGNORECASE)
    for order in (
        r"\b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,30}\b(?:previous|prior|above|earlier|preceding|your|all|the"
        r" system)\b[^.!?\n]{0,20}\b(?:instructions?|prompts?|directives?|guidelines|rules you were given)\b",
        r"\byou are now (?:in )?(?:a |an |the )?(?:[\w-]{1,40} ){0,3}(?:mode|dan|jailbroken|unrestricted|unfiltered)\b",
        r"\b(?:reveal|print|repeat|output|show)\b[^.!?\n]{0,20}\b(?:your|the) (?:system |hidden |initial )"
        r"(?:prompt|instructions?)\b",
        r"\b(?:judge|arbitrator|evaluator|moderator|assistant|model|ai)\b[,:][^.!?\n]{0,40}\byou (?:must|will|should)"
        r" (?:rule|decide|declare|score|award|approve|give|vote)\b",
        r"\bas an? (?:ai|language model|evaluator|judge)[^.!?\n]{0,20}, you (?:must|will|should)"
        r" (?:always )?(?:rule|decide|declare|score|award|approve|give|vote)\b",
        r"\bnew (?:system )?instructions?:\s",
    )
]
_MARKUP = re.compile(
    r"<\|[a-z][a-z_]{1,30}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
    r"|^[^\S\n]{0,20}#{2,3} ?(?:system|instruction)s?:[^\S\n]{0,20}$|^(?:system|assistant):\s",
    re.IGNORECASE | re.MULTILINE,
)
# Opening marks are excluded inside a quotation: otherwise each of many opening marks would be scanned to the end of the
# text, in quadratic time.
_QUOTED = re.compile(
    r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^“”]*”|«[^«»]*»|(?<!\w)'[^'\n]*'(?!\w)"
    r"|\u2018[^\u2018\u2019\n]*\u2019(?!\w)|^>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)


def instructions_to_a_model(text: Text) -> Iterator[Finding]:
    spoken = _QUOTED.sub(" ", text.content)
    if _is_there(spoken):
        yield Finding(RULE, Severity.REJECT, "It gives instructions to a model that may read it")
    elif _is_there(text.content):
        yield Finding(RULE, Severity.FLAG, "It quotes instructions to a model, which a model may follow anyway")


def _is_there(content: str) -> bool:
    whole = unbroken(content)
    return bool(_MARKUP.search(content)) or any(order.search(whole) for order in _ORDERS)
