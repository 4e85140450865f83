"""Listeners that come for a moment and leave without a word, by every way in which one can listen."""

import random
import time
from contextlib import suppress

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from scripts.breaking.load import Load

SECONDS_BETWEEN = 0.3


class PassersBy:
    def __init__(self, urls: list[str], load: Load) -> None:
        self._urls = urls
        self._load = load
        self._chance = random.Random()
        self.came = 0

    def come_and_go(self) -> None:
        ways = [self._stream, self._poll, self._watch, self._list]
        with httpx.Client(timeout=5, trust_env=False) as client:
            while not self._load.enough.wait(SECONDS_BETWEEN):
                url = self._chance.choice(self._urls)
                with suppress(httpx.HTTPError, OSError, WebSocketException, LookupError):
                    found = client.get(f"{url}/debates?limit=5").json()["data"]["debates"]
                    self._chance.choice(ways)(client, url, self._chance.choice(found)["id"])
                    self.came += 1

    def _stream(self, client: httpx.Client, url: str, debate_id: str) -> None:
        with client.stream("GET", f"{url}/debates/{debate_id}/stream") as answer:
            next(answer.iter_lines())

    def _poll(self, client: httpx.Client, url: str, debate_id: str) -> None:
        client.get(f"{url}/debates/{debate_id}/wait?role=opponent&timeout_ms=1000")

    def _watch(self, _: httpx.Client, url: str, debate_id: str) -> None:
        with connect(f"{url.replace('http', 'ws')}/ws?debate_id={debate_id}", proxy=None, close_timeout=0) as socket:
            socket.recv(timeout=2)
            time.sleep(self._chance.random())

    def _list(self, client: httpx.Client, url: str, _: str) -> None:
        client.get(f"{url}/debates?status=completed&limit=50")
