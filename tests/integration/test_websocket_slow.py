"""Readers that are slow, stop reading, or hold the socket wrong. The real server, with its real deadlines."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from harness import Api, Place, wait_until
from situations import turns
from watchers import Pieces, a_dialogue, argue, closing, heard, watching
from wsproto import ConnectionType, WSConnection
from wsproto.events import CloseConnection, Request, TextMessage

from app.realtime.connection import WRITE_SECONDS

pytestmark = pytest.mark.long

CONTENT = "words " * 1700  # about 10 KB, the most that one argument may have


class RawWatcher:
    """A client that reads when the test says so, and parses every frame."""

    def __init__(self, api: Api, debate_id: str, after_seq: int = 0) -> None:
        host, port = api.http.base_url.host, api.http.base_url.port
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self.sock.connect((host, port))
        self.protocol = WSConnection(ConnectionType.CLIENT)
        target = f"/ws?debate_id={debate_id}&after_seq={after_seq}"
        self.sock.sendall(self.protocol.send(Request(host=f"{host}:{port}", target=target)))
        self.messages: list[dict] = []
        self.close_code: int | None = None
        self._pieces = Pieces()

    def read(self, at_most: int = 1 << 16) -> bool:
        """False at the end of the stream."""
        received = self.sock.recv(at_most)
        if not received:
            return False
        self.protocol.receive_data(received)
        for event in self.protocol.events():
            if isinstance(event, TextMessage):
                text = self._pieces.whole(event)
                if text is not None:
                    self.messages.append(json.loads(text))
            elif isinstance(event, CloseConnection):
                self.close_code = event.code
        return True

    def read_to_the_end(self) -> None:
        self.sock.settimeout(20)
        while self.close_code is None and self.read():
            pass

    def seqs(self) -> list[int]:
        """Every turn it got, in the order in which it got them."""
        found: list[int] = []
        for message in self.messages:
            if message["event"] == "initial_state":
                found += [argument["seq"] for argument in message["data"]["arguments"]]
            elif message["event"] == "new_argument":
                found.append(message["data"]["argument"]["seq"])
        return found


def test_a_transcript_of_five_megabytes_reaches_a_slow_reader_whole(api: Api, module_place: Place) -> None:
    debate_id, _ = a_dialogue(api)
    turns.append(module_place, debate_id, [CONTENT] * 499)
    reader = RawWatcher(api, debate_id)
    reader.sock.settimeout(20)
    while not reader.messages:
        assert reader.read(8 * 1024)
        time.sleep(0.002)
    assert reader.seqs() == list(range(1, 501))
    assert all(argument["content"] == CONTENT for argument in reader.messages[0]["data"]["arguments"][1:])
    reader.sock.close()


@pytest.fixture
def argued(api: Api) -> Iterator[tuple[str, Callable[[], None]]]:
    """A dialogue that goes on, with long arguments, and what ends it after the argument under way."""
    debate_id, last = a_dialogue(api)
    enough = threading.Event()

    def go_on() -> None:
        speaker, target = "opponent", last
        for number in range(400):
            if enough.is_set():
                return
            body = {"role": speaker, "target_id": target, "content": CONTENT, "client_request_id": f"turn-{number}"}
            answer = api.http.post(f"/debates/{debate_id}/arguments", json=body)
            target = answer.json()["data"]["argument"]["id"]
            speaker = "proposer" if speaker == "opponent" else "opponent"

    thread = threading.Thread(target=go_on)
    thread.start()

    def end() -> None:
        enough.set()
        thread.join()

    yield debate_id, end
    end()


def resident_megabytes(place: Place) -> float:
    """Of all processes of the API."""
    master = psutil.Process(place.programs[0].pid)
    return sum(process.memory_info().rss for process in [master, *master.children(recursive=True)]) / 1e6


def test_readers_that_stop_are_cut_off_with_4408_and_miss_nothing_when_they_come_back(
    api: Api, module_place: Place, argued: tuple[str, Callable[[], None]]
) -> None:
    debate_id, end = argued
    before = resident_megabytes(module_place)
    stalled = [RawWatcher(api, debate_id) for _ in range(20)]
    with watching(api, debate_id) as neighbour:
        assert heard(neighbour)[0] == "initial_state"
        seen = 0
        deadline = time.monotonic() + WRITE_SECONDS + 6
        while time.monotonic() < deadline:
            try:
                event, data = heard(neighbour, max(deadline - time.monotonic(), 0.01))
            except TimeoutError:
                break
            # In order, and none left out: whoever reads feels nothing of those who do not.
            assert event == "new_argument"
            assert seen in (0, data["argument"]["seq"] - 1)
            seen = data["argument"]["seq"]
    end()
    assert seen > 50
    # Each holds a page of turns and what the kernel keeps, not everything that it has not read.
    assert resident_megabytes(module_place) - before < 100
    total = api.debate(debate_id)["argument_count"]
    for reader in stalled:
        reader.read_to_the_end()
        assert reader.close_code == 4408
        got = reader.seqs()
        assert got == list(range(1, len(got) + 1))
        assert len(got) < total
        reader.sock.close()
    back = RawWatcher(api, debate_id, after_seq=len(got))
    back.sock.settimeout(20)
    while not back.messages:
        back.read()
    assert got + back.seqs() == list(range(1, total + 1))
    back.sock.close()


def test_nothing_that_a_client_does_is_an_exception_in_the_log(place: Place, tmp_path: Path) -> None:
    place.log = tmp_path / "api.log"
    api = place.start_api()
    debate_id, motion = a_dialogue(api)
    # Wrong in every way that has a close code.
    for query in ({"after_seq": "x"}, {"after_seq": 9}):
        with watching(api, debate_id, **query) as socket_:
            assert closing(socket_) == 4400
    with watching(api, debate_id, {"origin": "https://evil.example"}) as socket_:
        assert closing(socket_) == 4403
    for frame in (
        b"\x83\x80\0\0\0\0",
        b"\x82\x81\0\0\0\0\x01",
        b"\x81\xff\0\0\0\0\0\x0f\0\0\0\0\0\0" + b"x" * 99_999,
    ):
        with watching(api, debate_id) as socket_:
            socket_.socket.sendall(frame)
            closing(socket_)
    # Gone without a word: before the first message, in its middle, and by a reset.
    for linger in (False, True):
        for _ in range(5):
            reader = RawWatcher(api, debate_id)
            if linger:
                reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            reader.sock.close()
    # Gone while it is being told.
    reader = RawWatcher(api, debate_id)
    reader.sock.settimeout(10)
    while not reader.messages:
        reader.read()
    reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    reader.sock.close()
    argue(api, debate_id, motion)
    assert api.http.get(f"/debates/{debate_id}").status_code == 200
    place.end_programs()
    wait_until(lambda: place.programs[0].poll() is not None, 60, "the API has ended")
    log = [json.loads(line) for line in place.log.read_text().splitlines()]
    assert [entry["event"] for entry in log if entry["level"] != "info"] == ["server.open"]
