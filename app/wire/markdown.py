"""Renders the Markdown that models and people write as safe HTML, for pages and exports.

Two independent barriers: the parser has raw HTML and images switched off, and what it makes is sanitised all the same.
"""

from collections.abc import Iterator
from functools import lru_cache
from html import escape
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.wire.texts import legible

LONGEST_MARKDOWN = 100_000
"""Characters. Longer texts are shown as they are."""
MOST_MARKS = 2_000
"""Characters with a meaning in Markdown. The parser's time grows with their square: `[` ten thousand times takes it a
fifth of a second. A text with more of them is shown as it is."""
_MARKS = "[]*_|~<&`"
_DEEPEST_HEADING = 6
_HEADING_SHIFT = 3
"""Headings of a text stand below the page's own: a turn has a heading of level 3."""
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span"),
    *("h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "target"}, "ol": {"start"}, "span": {"class"}, "pre": {"tabindex"}}
_SCHEMES = {"http", "https"}
_SCROLLS = {
    "<pre>": '<pre tabindex="0">',
    "<table>": '<div class="wide" tabindex="0"><table>',
    "</table>": "</table></div>",
}

_LONGEST_CACHED = 20_000

# `breaks`: people who write plain text mean the ends of their lines. `entity`: who quotes `&amp;` means these letters.
_parser = (
    MarkdownIt("commonmark", {"html": False, "breaks": True})
    .enable(["table", "strikethrough"])
    .disable(["image", "entity"])
)


def as_html(text: str) -> str:
    return _cached(text) if len(text) <= _LONGEST_CACHED else _rendered(text)


@lru_cache(maxsize=2_000)
def _cached(text: str) -> str:
    """A turn never changes, and a page of a debate shows the same turns to everybody."""
    return _rendered(text)


def _rendered(text: str) -> str:
    shown = legible(text)
    if len(shown) > LONGEST_MARKDOWN or sum(map(shown.count, _MARKS)) > MOST_MARKS:
        return f'<p class="plain">{escape(shown)}</p>'
    tokens = _parser.parse(shown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_DEEPEST_HEADING, int(token.tag[1:]) + _HEADING_SHIFT)}"
        elif token.children:
            token.children = list(_with_hosts(token.children))
    made = _parser.renderer.render(tokens, _parser.options, {})
    clean = nh3.clean(
        made, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )
    # The keyboard must reach what scrolls sideways. The text cannot contain these tags: its own are escaped.
    for tag, replacement in _SCROLLS.items():
        clean = clean.replace(tag, replacement)
    # The parser decodes the address that it shows as a link's text: `%E2%80%AE` would be an override.
    return legible(clean)


def _with_hosts(tokens: list[Token]) -> Iterator[Token]:
    """Names the host behind each link's text, unless the text is the address itself. A link without a host (`/stop`,
    say) would lead into our own pages: only its text is shown."""
    host = ""
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            host = _host_of(address)
            token.attrs = {"href": address, "target": "_blank"}
        if host or token.type not in ("link_open", "link_close"):
            yield token
        if token.type == "link_close" and host and token.markup != "autolink":
            yield Token("span_open", "span", 1, attrs={"class": "host"})
            yield Token("text", "", 0, content=f" ({host})")
            yield Token("span_close", "span", -1)


def _host_of(address: str) -> str:
    """Of http and https addresses; empty for all others."""
    try:
        split = urlsplit(address)
        return split.hostname or "" if split.scheme in _SCHEMES else ""
    except ValueError:
        return ""
