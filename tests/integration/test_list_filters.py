"""Filters of the list: by player, winner, tag, error, time, and several states or statuses at once."""

from typing import Any

import pytest
from harness import Api, Place, new_debate
from test_api_envelope import data_of, refusal_of

from app.store import listing
from app.store.listing import Filters

VERDICT = '{"winner": "%s", "scores": {"proposer": 5, "opponent": 5}, "reasoning": "so", "stop": false}'


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
    sql = module_place.sql
    sql("UPDATE debates SET status = 'failed', last_error = 'No answer', due_at = NULL WHERE title = 'failed'")
    sql("UPDATE debates SET status = 'running', last_error = 'Slow down' WHERE title = 'runs'")
    for title, winner, scope in (
        ("won", "opponent", "debate"),
        ("tied", "tie", "debate"),
        ("round", "opponent", "round"),
    ):
        sql(
            "UPDATE debates SET status = 'completed', stop_reason = 'max_rounds', due_at = NULL, verdict = %s::jsonb,"
            " verdict_scope = %s WHERE title = %s",
            VERDICT % winner,
            scope,
            title,
        )
    sql("UPDATE debates SET updated_at = '2026-01-01T12:00:00Z' WHERE title = 'won'")
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
def many(module_place: Place, api: Api) -> Place:
    """Among 20,000 debates of the same kind, a tenth of them open, three that are rare in every way."""
    api.create(title="copied")
    module_place.sql(
        "INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, seats, limits,"
        " turn_count, stop_reason, tags, updated_at)"
        " SELECT gen_random_uuid(), 'one of many', debate_type, format,"
        " CASE WHEN mod(number, 10) = 0 THEN 'created' ELSE 'completed' END, 4, 'debater_a', seats, limits, 10,"
        " CASE WHEN mod(number, 10) > 0 THEN 'max_rounds' END, '{common}', now() - make_interval(secs => number)"
        " FROM debates, generate_series(1, 20000) AS number WHERE title = 'copied'"
    )
    module_place.sql(
        "UPDATE debates SET status = 'failed', stop_reason = NULL, last_error = 'No', verdict = %s::jsonb,"
        " verdict_scope = 'debate' WHERE id IN (SELECT id FROM debates WHERE title = 'one of many' LIMIT 3)",
        VERDICT % "tie",
    )
    module_place.sql(
        "UPDATE debate_titles SET labels = '{tag:rare,player:openai:rare}' FROM debates"
        " WHERE debates.id = debate_id AND status = 'failed' AND debates.title = 'one of many'"
    )
    module_place.sql("ANALYZE debates")
    module_place.sql("ANALYZE debate_titles")
    return module_place


@pytest.mark.long
@pytest.mark.parametrize(("filters", "index"), SEEN_BY_AN_INDEX, ids=[index for _, index in SEEN_BY_AN_INDEX])
def test_what_is_rare_is_found_by_an_index(many: Place, filters: Filters, index: str) -> None:
    statement = listing._page_statement(filters, False, by_index=bool(filters.labels))
    with listing.Engine(str(many.settings.database_url), 1, 5, "test").autocommit() as connection:
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
