"""Listeners that come for a moment and leave without a word, by every way in which one can listen."""

import random
import time
from contextlib import suppress

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from debate_client import Client, ClientError, Retries
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
        retries = Retries((), without_answer=False)
        clients = [Client(url, "", timeout_seconds=5, retries=retries) for url in self._urls]
        while not self._load.enough.wait(SECONDS_BETWEEN):
            client = self._chance.choice(clients)
            with suppress(ClientError, OSError, WebSocketException, LookupError):
                found = client.page(5).debates
                self._chance.choice(ways)(client, self._chance.choice(found).id)
                self.came += 1

    def _stream(self, client: Client, debate_id: str) -> None:
        next(client.watch(debate_id))

    def _poll(self, client: Client, debate_id: str) -> None:
        client.wait(debate_id, "opponent", timeout_seconds=1)

    def _watch(self, client: Client, debate_id: str) -> None:
        url = client.server.url.replace("http", "ws")
        with connect(f"{url}/ws?debate_id={debate_id}", proxy=None, close_timeout=0) as socket:
            socket.recv(timeout=2)
            time.sleep(self._chance.random())

    def _list(self, client: Client, _: str) -> None:
        client.page(50, status="completed")
