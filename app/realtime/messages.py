"""A message as WebSockets carry it. What a server sends is not masked, so one encoding serves every watcher."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from wsproto.frame_protocol import FrameProtocol

PIECE_CHARACTERS = 16 * 1024
"""A message goes in pieces of at most this length, so that a close or a ping never waits behind a large one."""


class Message:
    __slots__ = ("_frames", "data", "event")

    def __init__(self, event: str, data: str) -> None:
        self.event = event
        self.data = data
        """JSON"""
        self._frames: tuple[bytes, ...] | None = None

    def frames(self) -> tuple[bytes, ...]:
        if self._frames is None:
            self._frames = tuple(frames_of([f'{{"event":"{self.event}","data":{self.data}}}']))
        return self._frames


def frames_of(texts: Iterable[str]) -> Iterator[bytes]:
    """The frames of one message whose parts come one by one: a long transcript is never held as a whole."""
    protocol = FrameProtocol(client=False, extensions=[])
    for piece, following in pairwise(_pieces_and_end(texts)):
        yield bytes(protocol.send_data(piece or "", fin=following is None))


def _pieces_and_end(texts: Iterable[str]) -> Iterator[str | None]:
    for text in texts:
        for start in range(0, len(text), PIECE_CHARACTERS):
            yield text[start : start + PIECE_CHARACTERS]
    yield None
