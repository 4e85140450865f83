"""Following one debate through the server's WebSocket, until nothing more can come. A lost connection is made anew and
goes on after the last argument that came."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from app.cli import show
from app.cli.client import Api, Json
from app.cli.errors import CommandFailed, Exit, Unavailable

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 1.0
GIVE_UP_SECONDS = 60.0
"""A server that stays away this long is not waited for any longer."""
PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)
_TERMINAL = {4400: Exit.ERROR, 4401: Exit.REFUSED, 4403: Exit.REFUSED, 4404: Exit.ERROR}


@dataclass(frozen=True)
class News:
    debate: Json | None = None
    """The debate as it is now, if it changed."""
    arguments: list[Json] = field(default_factory=list)
    words: str = ""
    """What a model is just saying."""


def follow(api: Api, debate_id: str, seen: int = 0) -> Iterator[News]:
    """Each change, with the arguments after `seen`. Ends when the debate has."""
    pauses: list[float] = []
    away_since = time.monotonic()
    is_known = False
    while True:
        try:
            for news in _connected(api, debate_id, seen):
                is_known, pauses, away_since = True, list(PAUSES_SECONDS), time.monotonic()
                seen = news.arguments[-1]["seq"] if news.arguments else seen
                yield news
                if news.debate is not None and show.has_ended(news.debate):
                    return
        except Unavailable:
            if not is_known or time.monotonic() - away_since > GIVE_UP_SECONDS:
                raise
        if len(pauses) == len(PAUSES_SECONDS):
            show.err.print("[dim]The connection was lost; coming back …[/]")
        time.sleep(pauses.pop(0) if pauses else PAUSES_SECONDS[-1])


def _connected(api: Api, debate_id: str, seen: int) -> Iterator[News]:
    """What one connection brings. Ends when it is lost."""
    try:
        with connect(
            f"{api.url.replace('http', 'ws', 1)}/ws?debate_id={debate_id}&after_seq={seen}",
            additional_headers=api.headers,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
            # A transcript is as long as it is, and no proxy is asked for servers on this machine.
            max_size=None,
            proxy=None,
        ) as socket:
            for text in socket:
                yield _news(json.loads(text))
    except ConnectionClosed as closed:
        if closed.rcvd is not None and closed.rcvd.code in _TERMINAL:
            raise CommandFailed(f"The server says: {closed.rcvd.reason}", _TERMINAL[closed.rcvd.code]) from closed
    except (OSError, WebSocketException) as problem:
        raise Unavailable(
            f"No WebSocket opens at {api.url} ({problem or type(problem).__name__})",
            Exit.NO_SERVER,
            "Start a server with `debate up`, or point DEBATE_SERVER_URL at yours",
        ) from problem


def _news(message: Json) -> News:
    data = message["data"]
    if message["event"] == "argument_delta":
        return News(words=data["text"])
    argument = [data["argument"]] if "argument" in data else []
    return News(data.get("debate"), data.get("arguments", argument))
