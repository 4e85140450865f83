"""A key may hold a quarter of the listeners of a process: none takes every place."""

from contextlib import ExitStack

import httpx
from agents import TOKEN, Caller, new_agent, operator
from harness import Place, new_debate, wait_until
from watchers import closing, heard, watching

MOST = 12
SHARE = MOST // 4


def stream(entered: ExitStack, caller: Caller, debate_id: str) -> httpx.Response:
    client = entered.enter_context(httpx.Client(base_url=caller.api.http.base_url, trust_env=False, timeout=60))
    headers = {"Authorization": f"Bearer {caller.token}"}
    return entered.enter_context(client.stream("GET", f"/debates/{debate_id}/stream", headers=headers))


def test_a_key_that_has_its_share_is_refused_and_others_get_a_place(place: Place) -> None:
    api = place.start_api(auth_token=TOKEN, rate_limit="off", max_listeners=MOST)
    boss = operator(api)
    greedy, other = new_agent(boss, "read"), new_agent(boss, "read")
    debate_id = boss.post("/debates", new_debate(format="dialogue")).json()["data"]["debate"]["id"]
    with ExitStack() as entered:
        with ExitStack() as taken:
            for _ in range(SHARE):
                assert stream(taken, greedy, debate_id).status_code == 200
            for path in ("stream", "wait?role=opponent"):
                refused = greedy.get(f"/debates/{debate_id}/{path}")
                assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
                assert int(refused.headers["Retry-After"]) > 0
            for watched in (debate_id, None):
                with watching(api, watched, token=greedy.token) as socket:
                    assert closing(socket) == 1013
            assert stream(entered, other, debate_id).status_code == 200
            for _ in range(SHARE + 1):
                assert stream(entered, boss, debate_id).status_code == 200
        with watching(api, debate_id, token=other.token) as socket:
            assert heard(socket)[0] == "initial_state"

        def has_a_place() -> bool:
            """The server notices that a client is gone when it writes to it."""
            for path in ("intervention", "ruling"):
                assert boss.post(f"/debates/{debate_id}/{path}", {"content": "Hm."}).status_code == 201
            return stream(entered, greedy, debate_id).status_code == 200

        wait_until(has_a_place, 60, "its places are free again")
