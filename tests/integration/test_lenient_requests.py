"""What real clients send and mean well: empty query values, too large a page, a null for a default."""

from harness import Api, Place
from situations import debates
from test_api_envelope import data_of
from watchers import heard, watching

EMPTY = "state=&status=&debate_type=&format=&q=&pending_first_opponent=&limit=&offset=&cursor="


def test_an_empty_query_value_counts_as_absent(api: Api) -> None:
    debate_id = api.create(format="dialogue")["id"]
    assert data_of(api.http.get(f"/debates?{EMPTY}")) == data_of(api.http.get("/debates"))
    transcript = f"/debates/{debate_id}"
    assert data_of(api.http.get(f"{transcript}?limit=")) == data_of(api.http.get(transcript))
    assert data_of(api.http.get(f"{transcript}/poll?role=opponent&argument_id="))["has_new_argument"]
    assert data_of(api.http.get(f"{transcript}/wait?role=opponent&argument_id=&timeout_ms="))["has_new_argument"]
    assert api.http.get(f"{transcript}/export?format=").json() == api.http.get(f"{transcript}/export").json()
    with watching(api, debate_id, after_seq="") as socket:
        event, state = heard(socket)
        assert (event, len(state["arguments"])) == ("initial_state", 1)


def test_an_empty_query_value_counts_as_absent_in_the_solutions_api(api: Api) -> None:
    answer = api.http.get("/api/v1/solutions?limit=&cursor=")
    assert (answer.status_code, answer.json()["data"]) == (200, [])


def test_a_page_of_more_than_200_is_a_page_of_200(api: Api, module_place: Place) -> None:
    debates.fill(module_place, 205)
    for limit in (200, 201, 5_000, 99_999_999_999_999_999_999):
        page = data_of(api.http.get("/debates", params={"q": "number", "limit": limit}))
        assert (len(page["debates"]), page["total"]) == (200, 205)
        assert page["next_cursor"]
