"""Links that hide where they lead, or lead where no reader should go."""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from app.core.guardrail.opinion import Finding, Severity, Text

RULE = "links"
MOST_LINKS = 10
_LINK = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_DANGEROUS = re.compile(r"(?:javascript|vbscript):[^\s]*[(=]|\bdata:text/html[;,]", re.IGNORECASE)
_SHORTENERS = frozenset(
    {
        "bit.ly", "buff.ly", "cutt.ly", "goo.gl", "is.gd", "lnkd.in", "ow.ly", "rb.gy", "rebrand.ly", "shorturl.at",
        "t.co", "t.ly", "tiny.cc", "tinyurl.com",
    }
)  # fmt: skip
_LOCAL_ENDINGS = (".local", ".internal", ".localhost", ".home.arpa", ".onion")


def bad_links(text: Text) -> Iterator[Finding]:
    if _DANGEROUS.search(text.content):
        yield Finding(RULE, Severity.REJECT, "It holds a link that would run a program in the reader's browser")
    found = [match.group().rstrip(".,;:!?") for match in _LINK.finditer(text.content)]
    if len(set(found)) > MOST_LINKS:
        yield Finding(RULE, Severity.FLAG, f"It holds more than {MOST_LINKS} links")
    for message, severity in dict.fromkeys(problem for link in (*found, *text.links) for problem in _problems(link)):
        yield Finding(RULE, severity, message)


def _problems(link: str) -> Iterator[tuple[str, Severity]]:
    try:
        parts = urlsplit(link)
        host = (parts.hostname or "").rstrip(".").lower()
        has_login = parts.username is not None
    except ValueError:
        yield "It holds a link that cannot be read", Severity.FLAG
        return
    if parts.scheme.lower() not in ("http", "https"):
        # A connection string, say: words about it are fine, and a password in it is another rule's business.
        return
    if has_login:
        yield "It holds a link with a user name in it, which hides where it leads", Severity.REJECT
    if host.removeprefix("www.") in _SHORTENERS:
        yield "It holds a shortened link, which hides where it leads", Severity.FLAG
    if host.startswith("xn--") or ".xn--" in host:
        yield "It holds a link whose name may look like another one", Severity.FLAG
    if _is_address(host):
        yield "It holds a link to a bare address", Severity.FLAG
    elif host.endswith(_LOCAL_ENDINGS):
        yield "It holds a link that only leads somewhere on its author's network", Severity.FLAG


def _is_address(host: str) -> bool:
    """Loopback is left alone: instructions say http://127.0.0.1:8080 and mean the reader's own machine."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
