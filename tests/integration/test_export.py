"""The transcript as a download. Whatever somebody said stays inside the place where it is shown."""

import json
import re
from html.parser import HTMLParser

import pytest
from harness import new_debate
from test_api_envelope import data_of, refusal_of
from test_protocol_table import PEOPLE, after, said_in, send

from app.wire.texts import legible

FORMATS = {"json": ("application/json", "json"), "markdown": ("text/markdown", "md"), "html": ("text/html", "html")}
VERDICT = {"winner": "opponent", "scores": {"proposer": 4.5, "opponent": 8}, "reasoning": "The buses decided it."}
CONTROLS = "".join(chr(code) for code in [*range(1, 32), *range(127, 160)])
HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "tags that close": "</p></section></body></html></blockquote></title></style><h1>Mine</h1>",
    "an attribute": '" onmouseover="alert(1)" x=\'',
    "an image": '<img src=x onerror="alert(1)"><svg/onload=alert(1)>',
    "comments": "<!-- --><!doctype html><![CDATA[ <?php ?>",
    "an escaped tag": "\\<script>alert(1)</script> &lt;b&gt; &#60;script&#62; &amp;",
    "a heading": "# Mine\n\n## 9. Judge, ruling (round 9)\n\n**Verdict:** proposer",
    "an underlined heading": "Mine\n===\n\nMine\n---\n",
    "rules": "---\n***\n___\n\n- - -\n",
    "a fence": "```\nnever closed",
    "long fences": "~~~~~~~~\n````````\n` `` ```",
    "a quotation": "> quoted\n>> twice\n\nand out of it",
    "strange line ends": "one\r# two\r\n# three\x0b# four\x0c# five\x85# six\u2028# seven\u2029# eight",
    "from right to left": "\u202e# desrever\u2066 \u05d0\u05d1\u05d2 \u0627\u0644 \u200f\n# \u202eMine",
    "controls": f"a{CONTROLS}b",
    "a table and a link": "| a | b |\n|---|---|\n[x](javascript:alert(1)) [Motion]: http://evil.example",
}


def exported(api, debate_id, form):
    answer = api.http.get(f"/debates/{debate_id}/export", params={} if form is None else {"format": form})
    assert answer.status_code == 200, answer.text
    return answer


def words(api, debate_id, form):
    return exported(api, debate_id, form).content.decode()


@pytest.fixture(scope="module")
def told(api):
    """A debate of every kind of argument, with a verdict."""
    way = ["argue as opponent", "argue as proposer", "intervene", "rule", "appeal"]
    debate_id = after(api, "dialogue", way, title="Cars & <cities>")
    data_of(send(api, debate_id, "rule", verdict=VERDICT, content="The opponent has it."), 201)
    data_of(send(api, debate_id, "resolve"), 201)
    return debate_id


# The download


@pytest.mark.parametrize("form", FORMATS)
def test_it_is_a_download_with_a_name_that_nobody_else_chose(api, told, form):
    answer = exported(api, told, form)
    mimetype, ending = FORMATS[form]
    assert answer.headers["Content-Type"].partition(";")[0] == mimetype
    if mimetype.startswith("text/"):
        assert answer.headers["Content-Type"] == f"{mimetype}; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="debate-{told}.{ending}"'
    assert answer.headers["X-Request-ID"]


@pytest.mark.parametrize("form", FORMATS)
def test_the_name_is_the_same_however_the_debate_is_spelt(api, told, form):
    assert (
        exported(api, told.upper(), form).headers["Content-Disposition"].endswith(f'"debate-{told}.{FORMATS[form][1]}"')
    )


def test_without_a_format_it_is_json(api, told):
    assert exported(api, told, None).content == exported(api, told, "json").content


@pytest.mark.parametrize("form", ["pdf", "JSON", "md", "html ", "../json", "%00"])
def test_an_unknown_format_is_refused(api, told, form):
    answer = api.http.get(f"/debates/{told}/export?format={form}")
    refusal_of(answer, "INVALID_INPUT", "format: ", "json", "markdown", "html")
    assert "Content-Disposition" not in answer.headers


# What is in it


def test_json_has_the_debate_and_every_argument_as_the_api_shows_them(api, told):
    document = json.loads(words(api, told, "json"))
    assert document == {"debate": api.debate(told), "arguments": said_in(api, told)}
    assert [argument["seq"] for argument in document["arguments"]] == list(range(1, 10))
    assert [argument["type"] for argument in document["arguments"]] == [
        *("MOTION", "CLAIM", "CLAIM", "INTERVENTION", "RULING", "APPEAL", "RULING", "RESOLUTION", "RULING")
    ]


HEADINGS = [
    "Motion",
    "2. Opponent (round 1)",
    "3. Proposer (round 2)",
    "4. Judge, interruption",
    "5. Judge, ruling (round 2)",
    "6. Proposer, appeal to the judge (round 3)",
    "7. Judge, ruling (round 3)",
    "8. Proposer, resolution (round 4)",
    "9. Judge, ruling (round 4)",
]


MEAN = "Mean of 1 judged round: proposer 4.5, opponent 8."


def test_the_verdict_of_the_debate_is_told_apart_from_those_of_rounds(api):
    debate_id = after(api, "dialogue", ["argue as opponent", "appeal"])
    data_of(send(api, debate_id, "rule", verdict=VERDICT), 201)
    data_of(send(api, debate_id, "appeal"), 201)
    whole = {"winner": "proposer", "scores": {"proposer": 7, "opponent": 6}, "reasoning": "All in all."}
    data_of(send(api, debate_id, "rule and close", verdict=whole), 201)
    text = words(api, debate_id, "markdown")
    assert f"The whole debate: proposer wins 7 to 6. {MEAN}" in text
    assert "**Round 2: opponent better, 8 to 4.5**" in text
    assert "**The whole debate: proposer wins 7 to 6**" in text


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_how_a_debate_ended_is_said_in_words(api, form):
    running = api.create(format="dialogue")["id"]
    assert "Created · proposer: external" in words(api, running, form)
    data_of(api.http.post(f"/debates/{running}/stop"))
    assert "Stopped: a stop request ended it · proposer: external" in words(api, running, form)
    ruled = api.create(format="direct", seats={"arbitrator": {"player": "external"}})["id"]
    data_of(api.http.post(f"/debates/{ruled}/ruling", json={"content": "So be it"}), 201)
    text = words(api, ruled, form)
    assert "Completed: all rounds finished · " in text or "Completed: a ruling closed it · " in text
    assert "max_rounds" not in text


def test_markdown_tells_every_argument_in_order_with_its_verdict(api, told):
    text = words(api, told, "markdown")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    for argument in said_in(api, told):
        assert f"> {argument['content']}" in text
    [verdict] = re.findall(r"^\*\*.*$", text, re.MULTILINE)
    assert verdict == "**Round 3: opponent better, 8 to 4.5**"
    assert text.index("The opponent has it.") < text.index(verdict) < text.index("The buses decided it.")
    assert text.index(MEAN) < text.index("## Motion"), "the result comes first, and is not called a verdict"
    assert text.index("The buses decided it.") < text.index("## 8.")


class Page(HTMLParser):
    """Reads a page as a browser would, as far as the tests ask."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.open, self.others = [], [], {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.texts.setdefault(tag, []).append("")
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open:
            self.texts[self.open[-1]][-1] += text

    def handle_comment(self, text):
        self.others.append(text)

    handle_pi = unknown_decl = handle_comment


def test_html_tells_every_argument_in_order_with_its_verdict(api, told):
    page = Page(words(api, told, "html"))
    assert page.texts["h2"] == HEADINGS
    assert page.texts["h1"] == page.texts["title"] == ["Cars & <cities>"]
    _, result, *paragraphs = page.texts["p"]
    assert result == MEAN
    contents = [argument["content"] for argument in said_in(api, told)]
    assert paragraphs[:7] == contents[:7]
    assert paragraphs[7].startswith("Round 3: opponent better, 8 to 4.5")
    assert paragraphs[7].endswith("The buses decided it.")
    assert paragraphs[8:] == contents[7:]


def test_html_renders_markdown_of_motions_and_turns(api):
    debate_id = after(api, "dialogue", [], motion_content="# Ban **cars**\n\n- in the centre")
    data_of(send(api, debate_id, "argue as opponent", content="| a | b |\n|---|---|\n| 1 | 2 |"), 201)
    page = Page(words(api, debate_id, "html"))
    assert (page.texts["strong"], page.texts["li"], page.texts["td"]) == (["cars"], ["in the centre"], ["1", "2"])


@pytest.mark.parametrize("form", FORMATS)
def test_a_long_transcript_comes_whole(api, form):
    debate_id = after(api, "dialogue", ["argue as opponent", "argue as proposer"] * 15)
    text = words(api, debate_id, form)
    assert text.count("I argue as opponent.") == text.count("I argue as proposer.") == 15


# Hostile words


FOUR_HEADINGS = [
    "Motion",
    "2. Opponent (round 1)",
    "3. Proposer, appeal to the judge (round 2)",
    "4. Judge, ruling (round 2)",
]


@pytest.fixture(scope="module", params=HOSTILE)
def hostile(api, request):
    """A debate in which somebody says this wherever anything can be said."""
    said = HOSTILE[request.param]
    body = new_debate(format="dialogue", seats=PEOPLE, title=said[:200], motion_content=said)
    debate_id = data_of(api.http.post("/debates", json=body), 201)["debate"]["id"]
    data_of(send(api, debate_id, "argue as opponent", content=said), 201)
    data_of(send(api, debate_id, "appeal", content=said), 201)
    data_of(send(api, debate_id, "rule and close", content=said, verdict={**VERDICT, "reasoning": said}), 201)
    return debate_id, said


def same_words(shown, said):
    """As a reader sees them: controls may be drawn and line ends may be changed, but no letter is lost."""
    invisible = re.compile(f"[{re.escape(CONTROLS)}\u2028\u2029\u2400-\u2426\ufffd\\s]")
    return invisible.sub("", shown) == invisible.sub("", legible(said))


def test_json_gives_hostile_words_back_as_they_were(api, hostile):
    debate_id, said = hostile
    document = json.loads(words(api, debate_id, "json"))
    assert document["debate"]["title"] == said[:200]
    assert [argument["content"] for argument in document["arguments"]] == [said] * 4
    assert document["arguments"][3]["verdict"]["reasoning"] == said


OURS = ["html", "head", "meta", "meta", "title", "style", "body", "h1", *(["section", "h2"] * 4)]
MARKDOWN = {"p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div"}
MARKDOWN |= {"h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}


def test_html_shows_hostile_words_and_only_markdown_of_them_becomes_a_part_of_the_page(api, hostile):
    debate_id, said = hostile
    page = Page(words(api, debate_id, "html"))

    assert [tag for tag in page.tags if tag not in MARKDOWN] == OURS
    assert page.others == []
    assert page.open == []
    assert {name for name, _ in page.attributes} <= {
        *("lang", "charset", "name", "content", "id", "class", "dir", "href", "rel", "target", "tabindex")
    }
    assert all(value.startswith(("http://", "https://")) for name, value in page.attributes if name == "href")
    assert page.texts["h2"] == FOUR_HEADINGS
    assert same_words(page.texts["h1"][0], said[:200])


def lines_of(text):
    """The lines of a Markdown document, as any reader of it may split them."""
    return re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text)


def test_markdown_quotes_hostile_words_and_nothing_of_them_becomes_a_part_of_the_document(api, hostile):
    debate_id, _ = hostile
    lines = lines_of(words(api, debate_id, "markdown"))

    ours = [line for line in lines if line and not line.startswith(">")]
    assert ours[0].startswith("# ")
    assert re.fullmatch(rf"Completed: a ruling closed it · .* · {debate_id}", ours[1])
    assert ours[2] == "The whole debate: opponent wins 8 to 4.5."
    assert ours[3:7] == [f"## {heading}" for heading in FOUR_HEADINGS]
    assert ours[7] == "**The whole debate: opponent wins 8 to 4.5**"
    assert len(ours) == 8


def test_no_tag_of_hostile_words_is_live_in_markdown(api, hostile):
    """Markdown passes HTML through, also inside a quotation, where a closing tag would end ours."""
    debate_id, _ = hostile
    assert not re.search(r"<[A-Za-z/!?]", words(api, debate_id, "markdown"))


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_no_control_character_reaches_a_terminal_or_a_page(api, hostile, form):
    debate_id, _ = hostile
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", words(api, debate_id, form))
