"""`q` with `texts=true`: debates are found by the words of their turns as well as by their title."""

from typing import Any

import pytest
from cells import each_of
from harness import Api, Place
from test_api_envelope import data_of

from app.store import listing, search
from app.store.engine import Engine
from app.store.listing import Filters, count_by_status, page

MOTIONS = {
    "First": "The Zeppelin's return: it's 100% well-known in app/store/listing.py.",
    "Second": "A zeppelin, again. ÜBERMUT kommt vor dem Fall; \\ 'quoted' <b>bold</b>",
    "Airship, not zeppelin": "Nothing of the kind",
    "Third": "Seen at https://example.org/harbour/lights?x=1, and so on",
}
HOSTILE = [
    "x" * 1_000_000,
    "a/" * 500_000,
    "a@b." * 250_000,
    "<" * 1_000_000,
    "http://a" * 125_000,
    "a-" * 500_000,
    "İ" * 500_000,
    " ".join(chr(0x20000 + number) for number in range(40_000)),
    "-".join(chr(0x20000 + number) for number in range(40_000)),
    " ".join(f"{number:x}-{number + 1:x}" for number in range(100_000)),
    "\\' :* & | ! <-> ()" * 1_000,
    "\x01\x02\u202e\u0300" * 10_000,
]


@pytest.fixture(scope="module")
def said(api: Api) -> Api:
    for title, motion in MOTIONS.items():
        api.create(title=title, motion_content=motion, format="dialogue")
    return api


def titles(api: Api, q: str, **others: Any) -> set[str]:
    found = data_of(api.http.get("/debates", params={"q": q, "texts": "true", **others}))
    assert (found["total"], found["total_is_estimate"]) == (len(found["debates"]), False)
    return {debate["title"] for debate in found["debates"]}


@each_of(
    ("q", "found"),
    [
        ("zeppelin", {"First", "Second", "Airship, not zeppelin"}),
        ("ZEPP", {"First", "Second", "Airship, not zeppelin"}),
        ("return zeppelin", {"First"}),
        ("übermut", {"Second"}),
        ("listing", {"First"}),
        ("well-known", {"First"}),
        ("harbour lights", {"Third"}),
        ("example.org", {"Third"}),
        ("100%", {"First"}),
        ("'quoted'", {"Second"}),
        ("bold", {"Second"}),
        ("eppelin", {"Airship, not zeppelin"}),
        ("ship, not", {"Airship, not zeppelin"}),
        ("zeppelin submarine", set()),
        ("\\", set()),
        ("' & | !", set()),
    ],
)
def test_a_search_in_texts_finds_beginnings_of_words_or_a_part_of_the_title(
    said: Api, q: str, found: set[str], monkeypatch: pytest.MonkeyPatch, module_place: Place
) -> None:
    assert titles(said, q) == found
    # The other way to search, reading texts in the order of the list, finds the same, and does not count.
    monkeypatch.setattr(search, "few_turns_match", lambda *_: False)
    engine = Engine(str(module_place.settings.database_url), 1, 5, "test")
    read = page(engine, Filters(q=q, texts=True), 200, 0, None)
    with engine.connect() as connection:
        counts = count_by_status(connection, Filters(q=q, texts=True), 51)
    engine.dispose()
    assert {debate.title for debate in read.debates} == found
    assert (read.total >= len(found), read.total_is_estimate) == (True, True)
    assert sum(counts.values()) == len(found)


def test_texts_are_searched_only_where_that_is_asked_and_other_filters_count(said: Api) -> None:
    only_titles = data_of(said.http.get("/debates", params={"q": "zeppelin"}))
    assert [debate["title"] for debate in only_titles["debates"]] == ["Airship, not zeppelin"]
    assert titles(said, "zeppelin", status="stopped") == set()
    assert titles(said, "zeppelin", format="dialogue", player="external") == {
        "First",
        "Second",
        "Airship, not zeppelin",
    }
    first = data_of(said.http.get("/debates", params={"q": "zeppelin", "texts": "true", "limit": 2}))
    rest = data_of(said.http.get("/debates", params={"q": "zeppelin", "texts": "true", "cursor": first["next_cursor"]}))
    assert [first["total"], len(first["debates"]), len(rest["debates"])] == [3, 2, 1]


@each_of("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_turn_says_is_stored(module_place: Place, said: Api, text: str) -> None:
    [(debate_id,)] = module_place.sql("SELECT id FROM debates WHERE title = 'First'")
    module_place.sql(
        "INSERT INTO turns (id, debate_id, seq, actor, type, content, player)"
        " SELECT gen_random_uuid(), debate_id, max(seq) + 1, 'judge', 'INTERVENTION', %s, 'external'"
        " FROM turns WHERE debate_id = %s GROUP BY debate_id",
        text,
        debate_id,
    )
    assert data_of(said.http.get("/debates", params={"q": text[:200], "texts": "true"}))
    # Other tests want Postgres to know which words are frequent, and not these.
    module_place.sql("DELETE FROM turns WHERE debate_id = %s AND seq > 1", debate_id)


def test_rare_words_are_found_by_the_index(module_place: Place, said: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    module_place.sql(
        "INSERT INTO turns (id, debate_id, seq, actor, type, content, player)"
        " SELECT gen_random_uuid(), debates.id, 1000 + number, 'judge', 'INTERVENTION', 'frequent ' || number, 'x'"
        " FROM debates, generate_series(1, 5000) AS number WHERE title = 'Third'"
    )
    module_place.sql("ANALYZE turns")
    statement = listing._page_statement(Filters(q="harbour", texts=True), False, by_index=True)
    engine = Engine(str(module_place.settings.database_url), 1, 5, "test")
    with engine.autocommit() as connection:
        parameters = {**statement._constants, "limit": 50, "offset": 0}
        plan = "\n".join(row[0] for row in connection.execute("EXPLAIN " + statement._sql, parameters))
        assert search.few_turns_match(connection, "harbour")
        monkeypatch.setattr(search, "FEW_TURNS", 100)
        assert not search.few_turns_match(connection, "frequent")
    engine.dispose()
    assert "turns_by_word" in plan, plan
