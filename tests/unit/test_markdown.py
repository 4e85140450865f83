"""Markdown of models and users becomes safe HTML: nothing runs, nothing loads, every link shows where it leads."""

from html.parser import HTMLParser

import pytest
from hostile_markdown import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from app.wire.markdown import LONGEST_MARKDOWN, MOST_MARKS, as_html
from app.wire.texts import BIDI_CONTROLS

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div"),
    *("h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"href", "rel", "target", "start", "class", "tabindex"}
CLASSES = {"host", "plain", "wide"}


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.others: list[str] = []
        self.said = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.said += text

    def handle_comment(self, text):
        self.others.append(text)

    handle_pi = unknown_decl = handle_decl = handle_comment


def safe(text: str) -> Parsed:
    page = Parsed(as_html(text))
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert {value for name, value in page.attributes if name == "class"} <= CLASSES
    for name, value in page.attributes:
        assert name != "href" or (value or "").startswith(("http://", "https://")), value
        assert name != "rel" or value == "noopener noreferrer nofollow"
    assert page.open == []
    assert page.others == []
    assert not set(page.said) & set(BIDI_CONTROLS)
    return page


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_hostile_text_runs_or_loads(text):
    safe(text)


@given(st.text(alphabet="<>[]()!`*_|#-~&;:/\"'= \n\x00\u202e\u2066abjscript", max_size=300))
def test_no_text_makes_a_tag_that_is_not_markdowns(text):
    safe(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# One\n### Three\n###### Six", "<h4>One</h4>\n<h6>Three</h6>\n<h6>Six</h6>"),
        ("**b** *e* ~~s~~ `c<d`", "<p><strong>b</strong> <em>e</em> <s>s</s> <code>c&lt;d</code></p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("```python\nx = 1\n```", '<pre tabindex="0"><code>x = 1\n</code></pre>'),
    ],
)
def test_markdown(text, made):
    assert as_html(text).strip() == made


def test_a_table_scrolls_in_a_box_that_the_keyboard_reaches():
    made = as_html("| a | b |\n|---|---|\n| 1 | 2 |")
    assert made.startswith('<div class="wide" tabindex="0"><table>')
    assert made.strip().endswith("</table></div>")


def test_a_link_names_its_host_and_an_address_speaks_for_itself():
    assert safe("[our bank](https://evil.example/login)").said.strip() == "our bank (evil.example)"
    assert safe("<https://a.example/x>").said.strip() == "https://a.example/x"


def test_what_is_written_as_an_entity_is_read_as_it_was_written():
    assert safe("&amp; &lt;b&gt; &rlm;").said.strip() == "&amp; &lt;b&gt; &rlm;"


def test_a_link_into_our_own_pages_is_only_text():
    assert as_html("[sign out](/sign-out)").strip() == "<p>sign out</p>"


@pytest.mark.parametrize("text", ["[" * (MOST_MARKS + 1), "a" * (LONGEST_MARKDOWN + 1)])
def test_a_text_that_would_take_long_to_parse_is_shown_as_it_is(text):
    assert as_html(text) == f'<p class="plain">{text}</p>'
