"""The API when its servers are not there: it says so, and works again when they are back."""

import psycopg
import pytest
from harness import new_debate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from test_api_envelope import data_of, refusal_of

NOBODY_LISTENS = "redis://127.0.0.1:1/0"


class Switch:
    """Makes the database of a place unreachable, and reachable again."""

    def __init__(self, place):
        self.database_url = place.settings.database_url
        self.database = conninfo_to_dict(self.database_url)["dbname"]

    def off(self):
        self._run(f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS false")
        self._run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", self.database)

    def on(self):
        self._run(f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS true")

    def _run(self, statement, *parameters):
        elsewhere = make_conninfo(self.database_url, dbname="postgres")
        with psycopg.connect(elsewhere, autocommit=True) as connection:
            connection.execute(statement, parameters or None)


@pytest.fixture
def database(module_place):
    switch = Switch(module_place)
    yield switch
    switch.on()


def every_request(api, debate_id):
    http, one = api.http, f"/debates/{debate_id}"
    yield http.post("/debates", json=new_debate())
    yield http.get("/debates")
    yield http.get(one)
    yield http.post(f"{one}/stop")
    yield http.post(f"{one}/pause")
    yield http.post(f"{one}/resume")
    yield http.post(f"{one}/intervention")
    yield http.post(f"{one}/ruling", json={"content": "So be it"})
    yield http.delete(one)


def test_while_the_database_is_away_every_request_is_told_to_come_back(api, database):
    debate_id = api.create()["id"]
    before = api.transcript(debate_id)
    database.off()

    for answer in every_request(api, debate_id):
        refusal_of(answer, "SERVICE_UNAVAILABLE")
        assert int(answer.headers["Retry-After"]) >= 1

    database.on()
    answers = [api.http.get(f"/debates/{debate_id}") for _ in range(2)]
    assert data_of(answers[-1]) == before
    assert api.create()["status"] == "created"


def test_one_lost_connection_costs_at_most_one_answer(api, database):
    debate_id = api.create()["id"]
    database.off()
    database.on()

    statuses = [api.http.get(f"/debates/{debate_id}").status_code for _ in range(5)]

    assert statuses in ([200] * 5, [503, 200, 200, 200, 200])


def test_a_request_that_is_wrong_in_itself_hears_so_even_without_a_database(api, database):
    database.off()
    refusal_of(api.http.post("/debates", json=new_debate(title="")), "INVALID_INPUT", "title")
    refusal_of(api.http.get("/debates?limit=0"), "INVALID_INPUT", "limit")


def test_without_a_database_the_process_is_healthy_but_not_ready(api, database):
    database.off()
    assert data_of(api.http.get("/health")) == {"status": "ok"}
    not_ready = api.http.get("/ready")
    assert (not_ready.status_code, not_ready.json()["success"]) == (503, False)
    assert not_ready.json()["data"] == {"database": "down", "queue": "up", "workers": 0, "threads": "up"}

    database.on()
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
    place.sql("DROP TABLE workers")
    ready = place.start_api().http.get("/ready")
    assert (ready.status_code, ready.json()["data"]["database"]) == (503, "down")
