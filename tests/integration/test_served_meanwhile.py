"""Long work in an API process does not keep its other requests waiting: they are answered all the while."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import httpx
import pytest
from experiment_steps import a_spec
from harness import Api, Place, new_debate, wait_until
from situations import turns
from test_api_envelope import data_of

pytestmark = pytest.mark.long

TURNS = 3_000
TRIES = 3
MOST_SILENCE = 0.2
FORMATS = ["json", "markdown", "html"]


@pytest.fixture(scope="module")
def guarded(module_place: Place) -> Api:
    return module_place.start_api(guard_turns=True, max_content_length=1_000_000)


@pytest.fixture(scope="module")
def long_debate(api: Api, module_place: Place) -> str:
    """Of 3,000 turns with ten kilobytes each."""
    debate_id = api.create(format="dialogue")["id"]
    turns.append(module_place, debate_id, ["Bread <b>& butter</b>. " * 450] * (TURNS - 1))
    return debate_id


def share_of_the_longest_silence(api: Api, work: Callable[[], object]) -> float:
    """Somebody else asks again and again while `work` goes on: the longest wait, as a part of how long `work` took."""
    over = threading.Event()
    answered: list[float] = []

    def ask() -> None:
        with httpx.Client(base_url=api.http.base_url, trust_env=False, timeout=60) as other:
            while not over.is_set():
                assert other.get("/health").status_code == 200
                answered.append(time.monotonic())

    with ThreadPoolExecutor(1) as somebody:
        asking = somebody.submit(ask)
        try:
            wait_until(lambda: len(answered) > 5, 60, "somebody else is answered")
            began = time.monotonic()
            work()
            ended = time.monotonic()
        finally:
            over.set()
        asking.result()
    moments = [began, *(moment for moment in answered if began < moment < ended), ended]
    return max(later - earlier for earlier, later in pairwise(moments)) / (ended - began)


def assert_others_are_served_during(api: Api, work: Callable[[], object]) -> None:
    """In proportion to the work itself, for a busy machine makes both longer."""
    shares = []
    for _ in range(TRIES):
        shares.append(share_of_the_longest_silence(api, work))
        if shares[-1] < MOST_SILENCE:
            return
    pytest.fail(f"others waited for {shares} of the time that it took")


@pytest.mark.parametrize("form", FORMATS)
def test_other_requests_are_answered_while_a_long_debate_is_exported(api, long_debate, form):
    def export() -> None:
        answer = api.http.get(f"/debates/{long_debate}/export", params={"format": form})
        assert answer.status_code == 200
        assert answer.text.count("Bread") == 450 * (TURNS - 1)

    assert_others_are_served_during(api, export)


def test_other_requests_are_answered_while_a_long_turn_is_looked_at(guarded):
    def create() -> None:
        body = new_debate(format="dialogue", motion_content="It's 4 1 1 1, said I: ignore all that, 'a. " * 20_000)
        data_of(guarded.http.post("/debates", json=body), 201)

    assert_others_are_served_during(guarded, create)


def test_a_transcript_that_goes_away_is_not_taken_for_a_whole_one(api, long_debate, module_place):
    with api.http.stream("GET", f"/debates/{long_debate}/export") as answer:
        pieces = answer.iter_bytes()
        next(pieces)
        # Far more is still to be read than fits in between.
        turns.keep_only_the_first(module_place, long_debate)
        with pytest.raises(httpx.RemoteProtocolError):
            list(pieces)
    assert api.http.get("/health").status_code == 200
    rest = api.http.get(f"/debates/{long_debate}/export")
    assert [turn["seq"] for turn in json.loads(rest.text)["arguments"]] == [1]


def test_other_requests_are_answered_while_large_experiments_are_drafted(api):
    names = itertools.count()

    def draft() -> None:
        for _ in range(5):
            contestants = [{"name": f"c{n}", "player": "scripted"} for n in range(200)]
            spec = a_spec(name=f"crowd {next(names)}", contestants=contestants, repeats=20)
            assert api.http.post("/experiments", json=spec, timeout=60).status_code == 201

    assert_others_are_served_during(api, draft)


def test_other_requests_are_answered_while_plans_are_written(api):
    names = itertools.count()
    lines = "\n".join(json.dumps({"id": f"m{n}", "motion": f"Motion {n}."}) for n in range(1000))

    def drafted() -> str:
        made = data_of(api.http.post("/experiments", json=a_spec(name=f"plan {next(names)}", repeats=10)), 201)
        at = f"/experiments/{made['experiment']['id']}"
        assert api.http.post(f"{at}/motions", content=lines).status_code == 200
        return at

    drafts = [drafted() for _ in range(3 * TRIES)]

    def start() -> None:
        for _ in range(3):
            started = data_of(api.http.post(f"{drafts.pop()}/start", timeout=60))
            assert started["experiment"]["progress"]["matches"]["planned"] == 20_000

    assert_others_are_served_during(api, start)
