"""GET /debates: order, filters and pages. Many debates are put in by SQL, each test's with a word of its own."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from harness import wait_until
from situations import debates, listings
from test_api_envelope import data_of, refusal_of
from watchers import EXTERNAL

from app.store import listing
from app.store.engine import Engine
from app.store.listing import Filters, count_by_status, page, rows

words = itertools.count(1)


@pytest.fixture
def word():
    """What the titles of one test's debates have in common."""
    return f"word-{next(words)}-"


@pytest.fixture
def put(module_place, word):
    """Puts debates with this test's word in and returns their ids."""
    return lambda title="", **columns: listings.put(module_place, title=f"{word} {title}", **columns)


def listed(api, **query):
    return data_of(api.http.get("/debates", params=query))


def ids(page):
    return [debate["id"] for debate in page["debates"]]


def in_order(module_place, word):
    """The ids as the list should have them, sorted here and not by the database."""
    rows = module_place.sql("SELECT id, updated_at FROM debates WHERE title LIKE %s", f"{word}%")
    return [str(debate_id) for debate_id, at in sorted(rows, key=lambda row: (-row[1].timestamp(), row[0]))]


def follow(api, between_pages=lambda: None, **query):
    """All pages, each by the cursor of the one before it."""
    pages = [listed(api, **query)]
    while pages[-1]["next_cursor"]:
        between_pages()
        pages.append(listed(api, **query, cursor=pages[-1]["next_cursor"]))
    return pages


# Order and shape


def test_an_empty_list_says_so(api, word):
    nothing = {"debates": [], "total": 0, "total_is_estimate": False, "next_cursor": None}
    assert listed(api, q=word) == nothing


def test_the_debate_with_the_latest_activity_comes_first(api):
    first, second, third = (api.create()["id"] for _ in range(3))
    assert ids(listed(api, limit=3)) == [third, second, first]

    api.http.post(f"/debates/{first}/pause")
    assert ids(listed(api, limit=3)) == [first, third, second]


def test_a_listed_debate_is_the_debate_itself(api):
    debate = api.create()
    assert listed(api, limit=1)["debates"] == [debate]


def test_debates_of_the_same_moment_are_ordered_by_id(api, put, word):
    made = put(updated_at="2020-01-01T00:00:00Z", count=50)
    assert ids(listed(api, q=word)) == sorted(made, key=UUID)


# Filters

STANDINGS = {
    "AWAITING_PROPOSER": {"next_actor": "debater_a"},
    "AWAITING_OPPONENT": {"next_actor": "debater_b"},
    "AWAITING_ARBITRATOR": {"next_actor": "judge"},
    "INTERVENTION_PENDING": {"next_actor": "judge", "intervention_open": True},
    "CLOSED": {"next_actor": "judge", "status": "stopped"},
}


@pytest.mark.parametrize("state", STANDINGS)
def test_the_state_filter_finds_what_the_answers_call_by_that_state(api, put, word, state):
    made = {name: put(name, **columns) for name, columns in STANDINGS.items()}
    made["CLOSED"] += put(status="completed", next_actor="debater_b")
    made["AWAITING_OPPONENT"] += put(status="paused", next_actor="debater_b") + put(
        status="failed", next_actor="debater_b"
    )

    page = listed(api, q=word, state=state)

    assert sorted(ids(page)) == sorted(made[state])
    assert {debate["state"] for debate in page["debates"]} == {state}
    assert page["total"] == len(made[state])


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("status", ["created", "running", "paused", "completed", "stopped", "failed"]),
        ("debate_type", ["general_debate", "coding_plan_debate"]),
        ("format", ["rounds", "dialogue"]),
    ],
)
def test_a_filter_finds_its_own_and_nothing_else(api, put, word, parameter, values):
    made = {value: put(**{parameter: value}) for value in values}
    for value in values:
        page = listed(api, q=word, **{parameter: value})
        assert (ids(page), page["total"]) == (made[value], 1)


def test_pending_first_opponent_finds_debates_whose_opponent_has_yet_to_speak(api, put, word):
    waiting = put(next_actor="debater_b", next_round=1, status="created")
    put(next_actor="debater_b", next_round=2)
    put(next_actor="debater_a", next_round=1)
    put(next_actor="debater_b", next_round=1, status="stopped")

    assert ids(listed(api, q=word, pending_first_opponent="true")) == waiting
    assert listed(api, q=word, pending_first_opponent="false")["total"] == 4


@pytest.mark.parametrize(
    "columns",
    [
        {"opponent": '{"player": "scripted"}'},
        {"opponent": '{"player": "openai:gpt-5-mini"}'},
        {"opponent": '{"player": "external", "agent_id": "0b0e8a7e-0000-4000-8000-000000000001"}'},
        {"status": "paused"},
        {"status": "failed"},
    ],
    ids=["scripted", "a model", "bound to an agent", "paused", "failed"],
)
def test_a_debate_that_no_opponent_could_join_now_is_not_pending(api, put, word, columns):
    pending = {"next_actor": "debater_b", "next_round": 1, "status": "created"}
    put(**{**pending, **columns})
    can_be_joined = put(**pending) + put(**{**pending, "status": "running"})
    page = listed(api, q=word, pending_first_opponent="true")
    assert sorted(ids(page)) == sorted(can_be_joined)
    assert page["total"] == 2


def test_a_seat_is_pending_for_the_agent_that_it_is_bound_to_and_for_no_other(api, word):
    agents = [api.http.post("/api/v1/agents", json={"username": f"{word}{n}"}).json()["data"] for n in range(2)]

    def debate(**bound):
        seats = {role: {**seat, "agent_id": bound[role]} if role in bound else seat for role, seat in EXTERNAL.items()}
        return api.create(title=word, format="dialogue", seats=seats)["id"]

    def pending(agent):
        headers = {"Authorization": f"Bearer {agent['apiKey']}"} if agent else {}
        query = {"q": word, "pending_first_opponent": "true"}
        page = data_of(api.http.get("/debates", params=query, headers=headers))
        assert page["total"] == len(page["debates"])
        return set(ids(page))

    first, second = (agent["agentId"] for agent in agents)
    free, bound = debate(), debate(opponent=first)
    own = debate(proposer=first), debate(arbitrator=first)
    other = debate(proposer=second)
    assert pending(agents[0]) == {free, bound, other}
    assert pending(agents[1]) == {free, *own}
    assert pending(None) == {free, *own, other}


def test_pending_first_opponent_reads_an_index_of_its_own(api, module_place, put):
    """However many debates stand at the opponent's first turn that cannot be joined."""
    put(next_actor="debater_b", next_round=1, opponent='{"player": "scripted"}', count=5_000)
    put(next_actor="debater_b", next_round=1, count=20)
    module_place.sql("ANALYZE debates")
    scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'debates_to_join'"
    [(before,)] = module_place.sql(scans)
    assert listed(api, pending_first_opponent="true", limit=3)["total"] >= 20
    # A backend tells its counts now and then, or when it is asked something later.
    wait_until(lambda: listed(api, limit=1) and module_place.sql(scans)[0][0] > before, 60, "the index was read")


def test_debates_to_join_are_counted_without_looking_at_each(module_place, put):
    put(next_actor="debater_b", next_round=1, count=3_000)
    module_place.sql("VACUUM ANALYZE debates")
    engine = Engine(module_place.settings.database_url, 1, 5, "test")
    counting = listing._total_statement(Filters(pending_first_opponent=True))
    with engine.autocommit() as connection:
        plan = "\n".join(row[0] for row in connection.execute("EXPLAIN " + counting._sql, counting._constants))
    engine.dispose()
    assert "Index Only Scan using debates_to_join" in plan, plan


def test_a_new_dialogue_waits_for_its_first_opponent(api, word):
    debate_id = api.create(title=word, format="dialogue")["id"]
    assert ids(listed(api, q=word, pending_first_opponent="true")) == [debate_id]
    api.http.post(f"/debates/{debate_id}/intervention")
    assert ids(listed(api, q=word, pending_first_opponent="true")) == []


@pytest.mark.parametrize(
    ("q", "found", "not_found"),
    [
        ("100%", "100% sure", "1000 sure"),
        ("a_b", "is a_b so", "is axb so"),
        ("a\\b", "is a\\b so", "is ab so"),
        ("\\%", "is \\% so", "is % so"),
        ("a/b", "is a/b so", "is ab so"),
        ("it's", "it's so", "its so"),
        ("Straße", "die STRASSE, die Straße", "die STRASSE"),
        ("CARS", "no cars here", "no buses here"),
        ("日本", "in 日本", "in 中国"),
        (":name", "a :name", "a name"),
        ("%(x)s $1 %s", "as %(x)s $1 %s", "as 1 1 1"),
        ('\'; DROP TABLE "x"; --', 'so \'; DROP TABLE "x"; --', "so DROP TABLE x"),
    ],
)
def test_q_finds_its_very_letters_in_the_title(api, module_place, q, found, not_found):
    wanted = api.create(title=found)["id"]
    other = api.create(title=not_found)["id"]
    listed_ids = ids(listed(api, q=q))
    assert wanted in listed_ids
    assert other not in listed_ids


@pytest.mark.parametrize("finds_few", [True, False])
@pytest.mark.parametrize("has_others", [True, False])
def test_both_ways_to_search_find_the_same(api, module_place, word, finds_few, has_others, monkeypatch):
    """The index of grams, and reading titles one after another: which is taken depends on how many match."""
    monkeypatch.setattr(listing, "planned", lambda _, filters: replace(filters, finds_few=finds_few))
    parts = [
        "%",
        "_",
        "\\",
        "'",
        '"',
        ":*",
        "& |",
        "!",
        "é",
        "日",
        "日本",
        "日本語",
        "a",
        "ab",
        "abc",
        "abcd",
        "x'y",
        "\\%",
    ]
    for part in parts:
        listings.put(module_place, title=f"{word} {part.upper()} end")
    listings.put(module_place, title=f"{word} abc bcd")
    # Only of what is counted is it known that it is few.
    module_place.sql("ANALYZE debates")
    engine = Engine(module_place.settings.database_url, 1, 5, "test")
    stored = [row[0].lower() for row in module_place.sql("SELECT title FROM debates WHERE status = 'running'")]
    for part in parts:
        filters = Filters(q=part, status=("running",)) if has_others else Filters(q=part)
        found = page(engine, filters, 200, 0, None)
        real = [title for title in stored if part in title]
        if has_others:
            assert (part, found.total) == (part, len(real))
        assert {title for title in real if word in title} <= {debate.title.lower() for debate in found.debates}
        assert all(part in debate.title.lower() for debate in found.debates)
        filters = replace(filters, finds_few=finds_few)
        with engine.connect() as connection:
            counts = count_by_status(connection, filters, 1_000)
            assert counts["running"] == len(real)
            assert [debate.id for debate in rows(connection, filters, 200, 0, None)[0]] == [
                debate.id for debate in found.debates
            ]
    engine.dispose()


def test_a_title_that_is_changed_is_found_by_its_new_words_only(api, module_place, put, word):
    [debate_id] = put("before")
    debates.change(module_place, "title = %s", f"{word} AFTER", debate_id=debate_id)
    assert ids(listed(api, q=f"{word} after")) == [debate_id]
    assert ids(listed(api, q=f"{word} before")) == []


def test_a_deleted_debate_is_not_found(api, module_place, put, word):
    [debate_id] = put()
    assert api.http.delete(f"/debates/{debate_id}").status_code == 200
    assert listed(api, q=word)["total"] == 0
    assert module_place.sql("SELECT count(*) FROM debate_titles WHERE title LIKE %s", f"{word}%") == [(0,)]


def test_a_blank_q_filters_nothing(api, put):
    put()
    assert listed(api, q="")["total"] == listed(api)["total"] > 0


# Pages


def test_fifty_debates_come_unless_said_otherwise(api, put, word):
    put(count=51)
    page = listed(api, q=word)
    assert (len(page["debates"]), page["total"]) == (50, 51)
    assert page["next_cursor"]


@pytest.mark.parametrize("limit", [1, 7, 199, 200])
def test_offset_skips_that_many(api, module_place, put, word, limit):
    put(updated_at="2020-01-01T00:00:00Z", count=210, moments=4)
    everything = in_order(module_place, word)
    for offset in (0, 1, 100, 209, 210, 2**31 - 1):
        page = listed(api, q=word, limit=limit, offset=offset)
        assert ids(page) == everything[offset : offset + limit]
        assert page["total"] == 210
        assert (page["next_cursor"] is None) == (offset + limit >= 210)


@pytest.mark.parametrize("limit", [17, 100, 200])
@pytest.mark.parametrize("moments", [1, 3, 400])
def test_cursors_lead_through_every_debate_exactly_once(api, module_place, put, word, limit, moments):
    """Of several hundred debates most share their updated_at, or differ by less than the wire shows."""
    put(updated_at="2020-01-01T00:00:00Z", count=400, moments=moments)

    pages = follow(api, q=word, limit=limit)

    assert [one for page in pages for one in ids(page)] == in_order(module_place, word)
    assert [len(page["debates"]) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert {page["total"] for page in pages} == {400}
    assert len(pages) == -(-400 // limit)


def test_what_happens_between_two_pages_neither_repeats_nor_hides_a_debate(api, module_place, put, word):
    put(updated_at="2020-01-01T00:00:00Z", count=60, moments=2)
    everything = in_order(module_place, word)

    def meanwhile():
        put("newer")
        listings.remove(module_place, everything[:1])

    pages = follow(api, meanwhile, q=word, limit=10)

    assert [one for page in pages for one in ids(page)] == everything


def test_a_cursor_works_with_the_filters_it_came_from(api, module_place, put, word):
    put(updated_at="2020-01-01T00:00:00Z", count=25, status="paused")
    put(updated_at="2020-01-01T00:00:00Z", count=25, status="running")
    pages = follow(api, q=word, status="paused", limit=10)
    assert [len(page["debates"]) for page in pages] == [10, 10, 5]
    assert {debate["status"] for page in pages for debate in page["debates"]} == {"paused"}


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        "!!!!",
        "é",
        "a b",
        "bnVsbA",  # null
        "W10",  # []
        "WzEsMl0",  # [1,2]
        "WyJub3ciLCIwMDAwIl0",  # ["now","0000"]
        # A moment without a time zone
        "WyIyMDIwLTAxLTAxVDAwOjAwOjAwIiwgIjAwMDAwMDAwLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwMDAwMCJd",
        "x" * 201,
    ],
)
def test_a_cursor_that_this_list_did_not_give_out_is_refused(api, cursor):
    refusal_of(api.http.get("/debates", params={"cursor": cursor}), "INVALID_INPUT", "cursor: ")


# Totals


@pytest.fixture(scope="module")
def bulk(module_place, api):
    """More than 10,000 debates whose title, which this is, has what SQL could stumble over."""
    title = "bulk 100% a_b \\ it's :name %(x)s $1'; DROP TABLE debates; --"
    listings.put(module_place, title=title, count=10_500, status="paused")
    module_place.sql("ANALYZE debates")
    return title


def test_a_total_is_exact_to_ten_thousand_and_an_estimate_beyond(api, put, word):
    put(count=10_000)
    page = listed(api, q=word, limit=1)
    assert (page["total"], page["total_is_estimate"]) == (10_000, False)

    put()
    page = listed(api, q=word, limit=1)
    assert page["total_is_estimate"] is True
    assert page["total"] > 10_000


@pytest.mark.long
@pytest.mark.parametrize("is_search", [True, False])
def test_too_many_are_counted_every_few_seconds_and_where_the_end_is_in_sight(
    module_place, put, word, is_search, monkeypatch
):
    monkeypatch.setattr(listing, "_estimates", {})
    engine = Engine(module_place.settings.database_url, 1, 5, "test")
    later = datetime(2100, 1, 1, tzinfo=UTC)
    filters = Filters(q=word) if is_search else Filters(since=later)

    def totals(limit):
        found = page(engine, filters, limit, 0, None)
        return found.total_is_estimate, found.total > 10_000, len(found.debates)

    first = put(count=10_001, updated_at=later)
    assert totals(8) == (True, True, 8)
    listings.remove(module_place, first[9:])
    assert totals(8) == (True, True, 8)
    assert totals(9) == (False, False, 9)
    listings.remove(module_place, first)
    engine.dispose()


@pytest.mark.long
@pytest.mark.parametrize("finds_few", [True, False])
@pytest.mark.parametrize("others", [{}, {"status": ("paused",)}])
def test_both_ways_to_search_know_when_to_stop_counting(module_place, bulk, finds_few, others, monkeypatch):
    monkeypatch.setattr(listing, "planned", lambda _, filters: replace(filters, finds_few=finds_few))
    engine = Engine(module_place.settings.database_url, 1, 5, "test")
    found = page(engine, Filters(q="DROP table", **others), 7, 0, None)
    engine.dispose()
    assert (found.total > 10_000, found.total_is_estimate, len(found.debates)) == (True, True, 7)
    assert {debate.title for debate in found.debates} == {bulk}


@pytest.mark.long
@pytest.mark.parametrize("query", [{}, {"status": "paused"}, {"format": "dialogue"}])
def test_an_estimate_is_near_the_truth(api, module_place, bulk, query):
    module_place.sql("ANALYZE debates")
    rows = module_place.sql("SELECT status, format FROM debates")
    real = sum(set(query.values()) <= set(row) for row in rows)
    page = listed(api, limit=1, **query)
    assert page["total_is_estimate"] is True
    assert page["total"] == pytest.approx(real, rel=0.1)


@pytest.mark.long
def test_a_filter_that_finds_few_of_many_counts_them(api, bulk, put, word):
    put(count=3)
    page = listed(api, q=word)
    assert (page["total"], page["total_is_estimate"]) == (3, False)


def test_no_plan_of_a_page_is_kept(place):
    """One from when there were few debates would read and sort all of them, until Postgres has analyzed the table."""
    engine = Engine(place.settings.database_url, 1, 5, "test")
    for filters in (Filters(), Filters(status=("running",)), Filters(q="few")):
        for _ in range(6):
            page(engine, filters, 50, 0, None)
    with engine.autocommit() as connection:
        kept = connection.execute(
            "SELECT statement FROM pg_prepared_statements WHERE statement ~ 'ORDER BY'"
        ).fetchall()
    engine.dispose()
    assert kept == []
