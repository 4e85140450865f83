"""The API when its servers are not there: it says so, and works again when they are back."""

from harness import new_debate
from test_api_envelope import data_of, refusal_of
from test_api_errors import EVERY_ENDPOINT, body_for
from worker_loop import database_away

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


def test_while_the_database_is_away_every_request_is_told_to_come_back(api, module_place):
    debate_id = api.create()["id"]
    before = api.transcript(debate_id)
    with database_away(module_place):
        of_debate = [(method, f"/debates/{debate_id}{path}", body_for(path)) for method, path in EVERY_ENDPOINT]
        for method, path, body in [("POST", "/debates", new_debate()), ("GET", "/debates", None), *of_debate]:
            answer = api.http.request(method, path, json=body)
            refusal_of(answer, "SERVICE_UNAVAILABLE")
            assert int(answer.headers["Retry-After"]) >= 1

    answers = [api.http.get(f"/debates/{debate_id}") for _ in range(2)]
    assert data_of(answers[-1]) == before
    assert api.create()["status"] == "created"


def test_one_lost_connection_costs_at_most_one_answer(api, module_place):
    debate_id = api.create()["id"]
    with database_away(module_place):
        """Every connection is lost."""

    statuses = [api.http.get(f"/debates/{debate_id}").status_code for _ in range(5)]

    assert statuses in ([200] * 5, [503, 200, 200, 200, 200])


def test_a_request_that_is_wrong_in_itself_hears_so_even_without_a_database(api, module_place):
    with database_away(module_place):
        refusal_of(api.http.post("/debates", json=new_debate(title="")), "INVALID_INPUT", "title")
        refusal_of(api.http.get("/debates?limit=0"), "INVALID_INPUT", "limit")


def test_without_a_database_the_process_is_healthy_but_not_ready(api, module_place):
    with database_away(module_place):
        assert data_of(api.http.get("/health")) == {"status": "ok"}
        not_ready = api.http.get("/ready")
        assert (not_ready.status_code, not_ready.json()["success"]) == (503, False)
        assert not_ready.json()["data"] == {"database": "down", "queue": "up", "workers": 0, "threads": "up"}

    assert data_of(api.http.get("/ready")) == {"database": "up", "queue": "up", "workers": 0, "threads": "up"}


def test_without_the_queue_debates_are_still_recorded(module_place):
    api = module_place.start_api(redis_url=NOBODY_LISTENS)

    not_ready = api.http.get("/ready")
    assert not_ready.status_code == 503
    assert not_ready.json()["data"] == {"database": "up", "queue": "down", "workers": 0, "threads": "up"}
    debate_id = api.create()["id"]
    assert data_of(api.http.post(f"/debates/{debate_id}/intervention"), 201)["debate"]["id"] == debate_id
    assert data_of(api.http.post(f"/debates/{debate_id}/stop"))["debate"]["status"] == "stopped"


def test_a_database_without_its_tables_is_not_ready(place):
    place.sql("DROP TABLE worker_leases")
    ready = place.start_api().http.get("/ready")
    assert (ready.status_code, ready.json()["data"]["database"]) == (503, "down")
