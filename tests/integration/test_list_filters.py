"""Filters of the list: by player, winner, tag, error, time, and several states or statuses at once."""

from typing import Any

import pytest
from harness import Api, Place, new_debate
from situations import listings
from test_api_envelope import data_of, refusal_of

from app.store import listing
from app.store.listing import Filters


def found(api: Api, **filters: Any) -> set[str]:
    answer = data_of(api.http.get("/debates", params={**filters, "limit": 200}))
    assert answer["total"] == len(answer["debates"])
    return {debate["title"] for debate in answer["debates"]}


@pytest.fixture(scope="module")
def listed(api: Api, module_place: Place) -> Api:
    for title, changes in {
        "waits": {"format": "dialogue", "tags": ["mills", "pilot"]},
        "runs": {"tags": ["pilot"], "seats": {"opponent": {"player": "openai:gpt-5-mini"}}},
        "failed": {"tags": ["50%", "Pilot"]},
        "won": {},
        "tied": {},
        "round": {},
    }.items():
        api.create(title=title, **changes)
    listings.change_titled(module_place, "failed", "status = 'failed', last_error = 'No answer', due_at = NULL")
    listings.change_titled(module_place, "runs", "status = 'running', last_error = 'Slow down'")
    listings.decide(module_place, "won", "opponent")
    listings.decide(module_place, "tied", "tie")
    standing = '{"scores": {"proposer": 4, "opponent": 6}, "rounds": 1}'
    listings.change_titled(
        module_place, "round", "status = 'stopped', stop_reason = 'manual_stop', standing = %s", standing
    )
    listings.change_titled(module_place, "won", "updated_at = '2026-01-01T12:00:00Z'")
    return api


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({"tag": "pilot"}, {"waits", "runs"}),
        ({"tag": "Pilot"}, {"failed"}),
        ({"tag": "50%"}, {"failed"}),
        ({"tag": "pil"}, set()),
        ({"tag": ""}, {"waits", "runs", "failed", "won", "tied", "round"}),
        ({"player": "openai:gpt-5-mini"}, {"runs"}),
        ({"player": "external"}, {"waits"}),
        ({"player": "scripted"}, {"runs", "failed", "won", "tied", "round"}),
        ({"player": "scripted", "tag": "pilot"}, {"runs"}),
        ({"player": "scripted", "q": "fail"}, {"failed"}),
        ({"player": "nobody"}, set()),
        ({"winner": "opponent"}, {"won"}),
        ({"winner": "tie"}, {"tied"}),
        ({"winner": "proposer"}, set()),
        ({"error": "true"}, {"failed", "runs"}),
        ({"error": "true", "status": "failed"}, {"failed"}),
        ({"error": "false"}, {"waits", "runs", "failed", "won", "tied", "round"}),
        ({"until": "2026-01-01T13:00:00+01:00"}, set()),
        ({"until": "2026-01-01T12:00:00.001Z"}, {"won"}),
        ({"since": "2026-01-01T12:00:00Z", "until": "2026-01-01T12:00:01Z"}, {"won"}),
        ({"since": "2026-01-01T12:00:01Z"}, {"waits", "runs", "failed", "tied", "round"}),
        ({"status": "failed,running"}, {"failed", "runs"}),
        ({"status": "failed"}, {"failed"}),
        ({"state": "CLOSED,AWAITING_OPPONENT"}, {"won", "tied", "round", "waits"}),
        ({"state": "AWAITING_PROPOSER", "status": "running,failed"}, {"runs", "failed"}),
    ],
)
def test_a_filter_finds_these(listed: Api, filters: dict[str, str], titles: set[str]) -> None:
    assert found(listed, **filters) == titles


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "failed,gone"),
        ("status", "failed,"),
        ("state", "OPEN"),
        ("winner", "arbitrator"),
        ("error", "perhaps"),
        ("since", "yesterday"),
        ("until", "2026-01-01T12:00:00"),
        ("player", "a\x00b"),
        ("tag", "x" * 101),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(api: Api, name: str, value: str) -> None:
    assert refusal_of(api.http.get("/debates", params={name: value}), "INVALID_INPUT")["field"].startswith(name)


@pytest.mark.parametrize("tags", [["x"] * 21, [""], ["x" * 101], "pilot", [7], ["a\x00b"]])
def test_tags_that_make_no_sense_are_refused(api: Api, tags: Any) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(tags=tags)), "INVALID_INPUT")
    assert error["field"].startswith("tags")


def test_tags_are_shown_once_each_and_repeated_requests_compare_them(api: Api) -> None:
    body = new_debate(tags=["b", "a", "b"])
    assert data_of(api.http.post("/debates", json=body), 201)["debate"]["tags"] == ["b", "a"]
    assert api.http.post("/debates", json=body).status_code == 200
    refusal_of(api.http.post("/debates", json={**body, "tags": ["b"]}), "REQUEST_ID_REUSED")


SEEN_BY_AN_INDEX = [
    (Filters(winner="tie"), "debates_by_winner"),
    (Filters(error=True), "debates_with_error"),
    (Filters(tag="rare"), "debate_titles_by_label"),
    (Filters(player="openai:rare"), "debate_titles_by_label"),
    (Filters(status=("failed", "paused")), "debates_by_status_and_update"),
]


@pytest.fixture(scope="module")
def many(module_place: Place) -> Place:
    """Among 20,000 debates of the same kind, a tenth of them open, three that are rare in every way."""
    common = {"title": "one of many", "opponent": '{"player": "scripted"}', "tags": ["common"]}
    listings.put(module_place, **common, count=2_000, status="created")
    listings.put(module_place, **common, count=18_000, status="completed")
    rare = {"title": "rare", "opponent": '{"player": "openai:rare"}', "tags": ["rare"]}
    listings.put(module_place, **rare, count=3)
    listings.decide(module_place, "rare", "tie")
    listings.change_titled(module_place, "rare", "status = 'failed', stop_reason = NULL, last_error = 'No'")
    module_place.sql("ANALYZE debates")
    module_place.sql("ANALYZE debate_titles")
    return module_place


@pytest.mark.long
@pytest.mark.parametrize(("filters", "index"), SEEN_BY_AN_INDEX, ids=[index for _, index in SEEN_BY_AN_INDEX])
def test_what_is_rare_is_found_by_an_index(many: Place, filters: Filters, index: str) -> None:
    with listing.Engine(str(many.settings.database_url), 1, 5, "test").autocommit() as connection:
        statement = listing._page_statement(listing.planned(connection, filters), False)
        parameters = {**statement._constants, "limit": 50, "offset": 0}
        plan = "\n".join(row[0] for row in connection.execute("EXPLAIN " + statement._sql, parameters))
    assert index in plan, plan


@pytest.mark.long
def test_a_common_label_is_read_in_list_order_and_counted(many: Place, api: Api) -> None:
    for filters in ({"tag": "common"}, {"player": "scripted", "state": "CLOSED"}):
        first = data_of(api.http.get("/debates", params={**filters, "limit": 5}))
        assert len(first["debates"]) == 5
        assert (first["total"] > 10_000, first["total_is_estimate"]) == (True, True)
        second = data_of(api.http.get("/debates", params={**filters, "limit": 5, "cursor": first["next_cursor"]}))
        ids = [debate["id"] for debate in (*first["debates"], *second["debates"])]
        assert len(set(ids)) == 10
