"""Keys and passwords pasted by mistake. A published secret cannot be withdrawn, so these are rejected."""

import re
from collections.abc import Iterator

from app.core.guardrail.normal import unbroken
from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "secrets"
_KNOWN = {
    "a private key": r"-----BEGIN (?:[A-Z]{1,20} ){0,5}PRIVATE KEY-----",
    "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{50,}",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "a Slack token": r"\bxox[abprs]-[0-9]{8,}-[A-Za-z0-9-]{10,}",
    "a Google key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "a Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{20,}",
    "a model provider's key": r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
    "a key of this server": r"\bdb[rs]_[A-Za-z0-9_-]{43}",
    "an invitation's link": r"/join/[A-Za-z0-9_-]{43}",
    "a webhook's secret": r"\bwhsec_[A-Za-z0-9+/]{32,}",
    # Atomic, and tried once per run of such letters: otherwise every `eyJ` in it would be tried as a start.
    "a signed web token": r"(?<![A-Za-z0-9_-])(?>[A-Za-z0-9_-]*?\b(?P<key>eyJ)[A-Za-z0-9_-]{15,})"
    r"\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}",
    "a password in a connection string": r"\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)://[^\s:@/]+:"
    r"(?!(?:password|secret|pass|pwd|user|x+|\*+|\.+|<|\$|\{))[^\s:@/]{6,}@",
}
_PATTERNS = {what: re.compile(pattern) for what, pattern in _KNOWN.items()}
_BROKEN = re.compile(
    r"(?:\b(?:AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|[rs]k_live_|sk-|db[rs]_|whsec_)|/join/)"
    r"[A-Za-z0-9+/_-]{0,100}[^\S\n]{0,20}\n"
)
LONGEST_KEY = 300
MOST_BROKEN = 20
_ASSIGNED = re.compile(
    r"\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)\b[\"']?\s*[:=]\s*[\"']?"
    r"(?P<value>[A-Za-z0-9+/_!@#$%^&*~.-]{12,})",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"example|placeholder|your|changeme|redacted|dummy|xxxx|1234|<|\$\{|\.{3}|\*{3}", re.IGNORECASE
)


def leaked_secrets(text: Text) -> Iterator[Finding]:
    whole = "\n".join((text.content, *text.links))
    joined = _joined(whole)
    if len(joined) > MOST_BROKEN:
        yield Finding(RULE, Severity.FLAG, "It contains the beginnings of many keys")
    forms = (whole, unbroken(whole), *joined[:MOST_BROKEN])
    for what, pattern in _PATTERNS.items():
        if any(_has_key(pattern, form) for form in forms):
            yield Finding(RULE, Severity.REJECT, f"It seems to contain {what}; if it is real, revoke it")
    if any(_looks_random(match["value"]) for match in _ASSIGNED.finditer(whole)):
        yield Finding(RULE, Severity.FLAG, "It seems to contain a password or a key")


def _joined(whole: str) -> list[str]:
    """From the beginning of each key that continues in the next line, without line breaks."""
    starts = [match.start() for match in _BROKEN.finditer(whole)]
    return ["".join(line.strip() for line in whole[start : start + LONGEST_KEY].split("\n")) for start in starts]


def _has_key(pattern: re.Pattern[str], whole: str) -> bool:
    match = pattern.search(whole)
    return match is not None and not _is_example(_key_in(match))


def _key_in(match: re.Match[str]) -> str:
    """Without the letters before it in the same run."""
    start = match.start("key") if "key" in match.re.groupindex else match.start()
    return match.string[start : match.end()]


def _is_example(found: str) -> bool:
    """A placeholder as in documentation, such as AKIAIOSFODNN7EXAMPLE."""
    return bool(_PLACEHOLDER.search(found)) and "PRIVATE KEY" not in found


def _looks_random(value: str) -> bool:
    """Upper case, lower case and digits mixed, unlike any word; `config.get_password_from_vault` is code."""
    if _PLACEHOLDER.search(value):
        return False
    return bool(re.search(r"[a-z]", value) and re.search(r"[A-Z]", value) and len(re.findall(r"\d", value)) >= 2)
