"""What real clients send and mean well: empty query values, too large a page, a null for a default. And what a text
that is too large is answered with."""

import pytest
from harness import Api, Place, new_debate
from situations import debates
from test_api_envelope import data_of, refusal_of
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


def test_a_required_query_value_that_is_empty_is_missing(api: Api) -> None:
    debate_id = api.create()["id"]
    refusal_of(api.http.get(f"/debates/{debate_id}/poll?role="), "INVALID_INPUT", "role: is required")


def test_a_page_of_more_than_200_is_a_page_of_200(api: Api, module_place: Place) -> None:
    debates.fill(module_place, 205)
    for limit in (200, 201, 5_000, 99_999_999_999_999_999_999):
        page = data_of(api.http.get("/debates", params={"q": "number", "limit": limit}))
        assert (len(page["debates"]), page["total"]) == (200, 205)
        assert page["next_cursor"]


def test_a_null_close_is_no_close(api: Api) -> None:
    debate_id = api.create(format="dialogue")["id"]
    data_of(api.http.post(f"/debates/{debate_id}/intervention"), 201)
    ruled = data_of(api.http.post(f"/debates/{debate_id}/ruling", json={"content": "Go on.", "close": None}), 201)
    assert ruled["debate"]["state"] == "AWAITING_PROPOSER"


@pytest.mark.parametrize("close", ["true", 1, []])
def test_a_close_that_is_no_boolean_is_refused(api: Api, close: object) -> None:
    debate_id = api.create(format="dialogue")["id"]
    answer = api.http.post(f"/debates/{debate_id}/ruling", json={"content": "Go on.", "close": close})
    refusal_of(answer, "INVALID_INPUT", "close: ")


def test_a_text_that_is_too_large_is_answered_with_the_limit_and_advice(api: Api) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(motion_content="é" * 6000)), "CONTENT_TOO_LARGE")
    assert error["max_length"] == 10_240
    assert error["suggestion"] == "Shorten motion_content to 10240 bytes of UTF-8 or less"


def test_a_body_that_is_far_too_large_is_answered_with_the_limit_and_advice(api: Api) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(motion_content="x" * 20_000_000)), "CONTENT_TOO_LARGE")
    assert error["max_length"] == 10_240
    assert error["suggestion"] == "Shorten each text to 10240 bytes of UTF-8 or less"
