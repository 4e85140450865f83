"""Links that hide their target, or lead to an unsafe one."""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "links"
MOST_LINKS = 10
_LINK = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:javascript|vbscript):", re.IGNORECASE)
_HTML = re.compile(r"\bdata:text/html[;,]", re.IGNORECASE)
_SHORTENERS = frozenset(
    {
        "bit.ly", "buff.ly", "cutt.ly", "goo.gl", "is.gd", "lnkd.in", "ow.ly", "rb.gy", "rebrand.ly", "shorturl.at",
        "t.co", "t.ly", "tiny.cc", "tinyurl.com",
    }
)  # fmt: skip
_LOCAL_ENDINGS = (".local", ".internal", ".localhost", ".home.arpa", ".onion")


def bad_links(text: Text) -> Iterator[Finding]:
    if _runs_a_script(text.content) or _HTML.search(text.content):
        yield Finding(RULE, Severity.REJECT, "It contains a link that would run a script in the reader's browser")
    found = dict.fromkeys(match.group().rstrip(".,;:!?") for match in _LINK.finditer(text.content))
    if len(found) > MOST_LINKS:
        yield Finding(RULE, Severity.FLAG, f"It contains more than {MOST_LINKS} links")
    for message, severity in dict.fromkeys(problem for link in (*found, *text.links) for problem in _problems(link)):
        yield Finding(RULE, severity, message)


def _runs_a_script(content: str) -> bool:
    """`javascript:` with a call or an assignment after it, before the next blank."""
    for word in content.split():
        script = _SCRIPT.search(word)
        if script and ("(" in word[script.end() :] or "=" in word[script.end() :]):
            return True
    return False


def _problems(link: str) -> Iterator[tuple[str, Severity]]:
    try:
        parts = urlsplit(link)
        host = (parts.hostname or "").rstrip(".").lower()
        has_login = parts.username is not None
    except ValueError:
        yield "It contains a link that cannot be read", Severity.FLAG
        return
    if parts.scheme.lower() not in ("http", "https"):
        # For example a connection string: allowed here, and secrets.py checks it for a password.
        return
    if has_login:
        yield "It contains a link with a user name, which hides its target", Severity.REJECT
    if host.removeprefix("www.") in _SHORTENERS:
        yield "It contains a shortened link, which hides its target", Severity.FLAG
    if host.startswith("xn--") or ".xn--" in host or not host.isascii():
        yield "It contains a link whose host name may imitate another one", Severity.FLAG
    if _is_address(host):
        yield "It contains a link to an IP address", Severity.FLAG
    elif host.endswith(_LOCAL_ENDINGS):
        yield "It contains a link that works only on its author's network", Severity.FLAG


def _is_address(host: str) -> bool:
    """Loopback is allowed: instructions write http://127.0.0.1:8080 and mean the reader's own machine."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
