"""Personal data. Card and account numbers are rejected; e-mail addresses and phone numbers are flagged."""

import re
from collections.abc import Iterator

from app.core.guardrail.normal import unbroken
from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "personal_data"
_CARD = re.compile(r"(?<![\d.,-])(?:\d[ -]?){12,18}\d(?![.,-]{0,10}\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_SSN = re.compile(r"\b(?:SSN|social security(?: number)?)\b\D{0,20}\d{3}-\d{2}-\d{4}\b", re.IGNORECASE)
# Matches only where a name begins, and possessively: otherwise every letter of a name would be tried as a start.
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])(?P<name>[A-Za-z0-9._%+-]++)@(?P<domain>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b"
)
_PHONE = re.compile(r"(?<![\w+])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}(?!\w)")
_ROLES = frozenset(
    {
        "abuse", "admin", "contact", "feedback", "hello", "help", "info", "jobs", "mail", "noreply", "no-reply",
        "office", "postmaster", "press", "sales", "security", "support", "team", "webmaster", "git",
    }
)  # fmt: skip
_EXAMPLES = ("example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost")


def personal_data(text: Text) -> Iterator[Finding]:
    content = text.content
    whole = unbroken(content)
    if _has_card(content):
        yield Finding(RULE, Severity.REJECT, "It seems to contain the number of a payment card")
    elif _has_card(whole):
        # Numbers in a column may look like one by chance.
        yield Finding(RULE, Severity.FLAG, "It seems to contain the number of a payment card, over several lines")
    if any(_is_iban(match.group()) for match in _IBAN.finditer(whole)):
        yield Finding(RULE, Severity.REJECT, "It seems to contain the number of a bank account")
    if _SSN.search(content):
        yield Finding(RULE, Severity.REJECT, "It seems to contain a social security number")
    if any(_is_a_persons(match["name"], match["domain"]) for match in _EMAIL.finditer(content)):
        yield Finding(RULE, Severity.FLAG, "It seems to contain somebody's e-mail address")
    if _PHONE.search(content):
        yield Finding(RULE, Severity.FLAG, "It seems to contain a telephone number")


def _has_card(content: str) -> bool:
    return any(_is_card(match.group()) for match in _CARD.finditer(content))


def _is_card(found: str) -> bool:
    """By its first digits and its check digit, so that other long numbers pass (Luhn lets one in ten through)."""
    digits = [int(letter) for letter in found if letter.isdigit()]
    if digits[0] not in (3, 4, 5, 6) or len(digits) < 13 or len(set(digits)) < 4:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(found: str) -> bool:
    packed = found.replace(" ", "")
    if not 15 <= len(packed) <= 34:
        return False
    moved = packed[4:] + packed[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def _is_a_persons(name: str, domain: str) -> bool:
    """Not info@…, not an example's, and not `pip install git+ssh://git@host`."""
    return name.lstrip("._%+-").lower() not in _ROLES and not domain.lower().endswith(_EXAMPLES)
