"""`q` with `texts=true`: debates are found by the words of their turns as well as by their title."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from databases import rows_read
from harness import Api, Place, wait_until
from situations import debates, listings, turns
from test_api_envelope import data_of
from watchers import a_dialogue, argue

from app.store import listing
from app.store.engine import Engine
from app.store.listing import Filters, count_by_status, page, rows_sorted
from app.store.text_index import TURNS_AT_ONCE, index_new_turns

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


@pytest.fixture(scope="module")
def engine(module_place: Place) -> Iterator[Engine]:
    made = Engine(str(module_place.settings.database_url), 2, 5, "test")
    yield made
    made.dispose()


def index_all(place: Place, engine: Engine) -> int:
    """As if every debate had been quiet for long enough, and no pass had been made for a while."""
    debates.age(place, 600)
    listings.expect_all(place)
    return index_new_turns(engine)


def id_of(api: Api, title: str) -> str:
    [found] = data_of(api.http.get("/debates", params={"q": title, "limit": 1}))["debates"]
    return str(found["id"])


def titles(api: Api, q: str, **others: Any) -> set[str]:
    found = data_of(api.http.get("/debates", params={"q": q, "texts": "true", **others}))
    assert (found["total"], found["total_is_estimate"]) == (len(found["debates"]), False)
    return {debate["title"] for debate in found["debates"]}


@pytest.mark.parametrize(
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
    said: Api, q: str, found: set[str], monkeypatch: pytest.MonkeyPatch, module_place: Place, engine: Engine
) -> None:
    listings.forget_text_index(module_place)
    assert titles(said, q) == found, "before any turn is indexed"
    with monkeypatch.context() as patched:
        read_in_order(patched)
        in_order(engine, q, found)
    assert index_all(module_place, engine) == len(MOTIONS)
    assert titles(said, q) == found, "by the index"
    read_in_order(monkeypatch)
    in_order(engine, q, found)


def read_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every search found many debates."""
    monkeypatch.setattr(listing, "planned", lambda _, filters: filters)


def in_order(engine: Engine, q: str, found: set[str]) -> None:
    """The other way to search, reading texts in the order of the list, finds the same, and does not count."""
    read = page(engine, Filters(q=q, texts=True), 200, 0, None)
    with engine.connect() as connection:
        counts = count_by_status(connection, Filters(q=q, texts=True), 51)
    assert {debate.title for debate in read.debates} == found
    assert (read.total >= len(found), read.total_is_estimate) == (True, True)
    assert sum(counts.values()) == len(found)


def test_a_search_in_texts_that_finds_many_sorts_only_its_newest_debates(
    said: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_SORTED", 2)
    filters = Filters(q="zeppelin", texts=True)
    newest = {debate.id for debate in page(engine, filters, 2, 0, None).debates}
    with engine.connect() as connection:
        found, has_more = rows_sorted(connection, filters, "eldest", 10, 0)
        few, _ = rows_sorted(connection, replace(filters, finds_few=True), "eldest", 10, 0)
    assert ({debate.id for debate in found}, has_more) == (newest, False)
    assert found == sorted(found, key=lambda debate: (debate.created_at, debate.id))
    assert len(few) == 3


def test_a_search_finds_few_up_to_a_number_of_titles_or_of_turns(
    said: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch, module_place: Place
) -> None:
    index_all(module_place, engine)
    monkeypatch.setattr(listing, "FEW", 2)
    listing._beyond_few.cache_clear()
    with engine.autocommit() as connection:
        few = {
            filters: listing.planned(connection, filters).finds_few
            for filters in (
                Filters(q="zeppelin"),
                Filters(q="i"),
                Filters(q="zeppelin", texts=True),
                Filters(q="harbour", texts=True),
                Filters(player="external"),
                Filters(player="external", q="Airship"),
                Filters(status=("running",)),
            )
        }
    listing._beyond_few.cache_clear()
    assert list(few.values()) == [True, False, False, True, False, True, False]


def test_in_the_order_of_the_list_no_text_is_taken_apart_whose_words_are_indexed(
    said: Api, monkeypatch: pytest.MonkeyPatch, module_place: Place, engine: Engine
) -> None:
    index_all(module_place, engine)
    listings.believe_all_indexed(module_place)
    listings.index_as(module_place, id_of(said, "First"), "marmalade")
    read_in_order(monkeypatch)
    try:
        in_order(engine, "marmalade", {"First"})
        in_order(engine, "listing", set())
    finally:
        listings.forget_text_index(module_place)


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


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_turn_says_is_stored_and_indexed(module_place: Place, said: Api, engine: Engine, text: str) -> None:
    debate_id = said.create(title="Hostile", format="dialogue")["id"]
    turns.append(module_place, debate_id, [text])
    assert data_of(said.http.get("/debates", params={"q": text[:200], "texts": "true"}))
    assert index_all(module_place, engine) >= 1
    assert data_of(said.http.get("/debates", params={"q": text[:200], "texts": "true"}))
    # Other tests want Postgres to know which words are frequent, and not these.
    said.http.delete(f"/debates/{debate_id}").raise_for_status()


def many_texts(count: int) -> list[str]:
    """Each has a word that all have, its number, and rare words, which its neighbors have too."""
    return [f"frequent {n} {' '.join(f'rare{n + other}' for other in range(15))}" for n in range(1, count + 1)]


def plan_of_search(engine: Engine, q: str) -> str:
    statement = listing._page_statement(Filters(q=q, texts=True, finds_few=True), False)
    with engine.autocommit() as connection:
        parameters = {**statement._constants, "limit": 50, "offset": 0}
        return "\n".join(row[0] for row in connection.execute("EXPLAIN " + statement._sql, parameters))


@pytest.mark.long
def test_rare_words_are_found_by_the_index(module_place: Place, said: Api, engine: Engine) -> None:
    turns.append(module_place, id_of(said, "Third"), many_texts(5000))
    assert index_all(module_place, engine) >= 5000, "in many statements"
    assert titles(said, "5000") == titles(said, "frequent 17") == {"Third"}
    module_place.sql("ANALYZE indexed_turns")
    plan = plan_of_search(engine, "harbour")
    with engine.autocommit() as connection:
        assert listing.planned(connection, Filters(q="harbour", texts=True)).finds_few
        assert not listing.planned(connection, Filters(q="frequent", texts=True)).finds_few
    assert "indexed_turns_by_word" in plan, plan


def test_a_search_for_rare_words_reads_few_rows_however_many_debates_there_are(place: Place) -> None:
    debates.fill(place, 2000)
    turns.add_motions(place, "Much is said")
    # One connection: it has to tell what it has read before it is asked.
    alone = Engine(str(place.settings.database_url), 1, 5, "test")
    try:
        assert index_all(place, alone) >= 2000
        place.sql("ANALYZE debates, debate_titles, turns, indexed_turns")
        place.start_api().create(title="Fresh", motion_content="A pangolin appears")
        before = rows_read(alone)
        found = page(alone, Filters(q="pangolin", texts=True), 50, 0, None)
        read = rows_read(alone)["turns"] - before["turns"]
        plan = plan_of_search(alone, "pangolin")
    finally:
        alone.dispose()
    assert [debate.title for debate in found.debates] == ["Fresh"]
    assert found.total == 1
    assert read < 50
    assert "debates_pkey" in plan, plan


def test_a_pass_takes_what_changed_since_the_last_one_and_leaves_what_has_just_changed(
    module_place: Place, said: Api, engine: Engine
) -> None:
    index_all(module_place, engine)
    fresh = said.create(title="Fresh", motion_content="An ocelot appears", format="dialogue")
    assert index_new_turns(engine) == 0, "another pass has just begun"
    listings.allow_pass(module_place)
    assert index_new_turns(engine) == 0, "it changed a moment ago"
    assert titles(said, "ocelot") == {"Fresh"}
    debates.age(module_place, 20, fresh["id"])
    listings.allow_pass(module_place)
    assert index_new_turns(engine) == 1
    assert titles(said, "ocelot") == {"Fresh"}
    turns.append(module_place, fresh["id"], many_texts(TURNS_AT_ONCE + 1))
    listings.allow_pass(module_place)
    assert index_new_turns(engine) == TURNS_AT_ONCE + 1, "it is looked at again for a minute after its last change"
    said.http.delete(f"/debates/{fresh['id']}").raise_for_status()
    assert module_place.sql("SELECT count(*) FROM indexed_turns WHERE debate_id = %s", fresh["id"])[0][0] == 0
    assert titles(said, "ocelot") == set()


def test_a_debate_that_is_deleted_meanwhile_keeps_no_other_from_the_index(
    module_place: Place, said: Api, engine: Engine
) -> None:
    gone = said.create(title="Gone", motion_content="A walrus", format="dialogue")["id"]
    said.create(title="Stays", motion_content="A narwhal", format="dialogue")
    debates.age(module_place, 600)
    deleting = psycopg.connect(str(module_place.settings.database_url))
    deleting.execute("DELETE FROM debates WHERE id = %s", [gone])
    listings.expect_all(module_place)
    with ThreadPoolExecutor(1) as executor:
        passing = executor.submit(index_new_turns, engine)
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%indexed_turns%%'"
        wait_until(lambda: bool(module_place.sql(waits)), 30, "the pass waits for the deletion")
        deleting.commit()
        assert passing.result(30) >= 1
    deleting.close()
    assert titles(said, "narwhal") == {"Stays"}
    assert titles(said, "walrus") == set()


def test_a_running_worker_indexes_what_is_said(place: Place) -> None:
    debate_id, motion = a_dialogue(api := place.start_api())
    argue(api, debate_id, motion)
    debates.age(place, 20)
    place.start_worker()
    wait_until(lambda: place.sql("SELECT count(*) FROM indexed_turns") == [(2,)], 60, "its turns are indexed")
