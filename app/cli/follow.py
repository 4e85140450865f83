"""Follows one debate over the server's stream until it ends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import debate_client
from app.cli.client import Api
from app.cli.output import Json, note
from app.cli.words import has_ended


@dataclass(frozen=True)
class News:
    debate: Json | None = None
    """The debate as it is now, if it changed."""
    arguments: list[Json] = field(default_factory=list)
    words: str = ""
    """Text that a model is generating."""


def follow(api: Api, debate_id: str, seen: int = 0, check: Callable[[], None] = lambda: None) -> Iterator[News]:
    """Yields each change, with the arguments after `seen`, until the debate ends. `check` is called after each lost
    connection, and raises when a new one is impossible."""

    def on_lost(losses: int) -> None:
        check()
        if losses == 1:
            note("The connection was lost; reconnecting …")

    try:
        for event in api.client.events(debate_id, changes=True, on_lost=on_lost):
            news = _news(event.data, seen)
            seen = news.arguments[-1]["seq"] if news.arguments else seen
            if news != News():
                yield news
            # A replay shows the debate as it is now with each of its arguments, not only with the last.
            if news.debate is not None and has_ended(news.debate) and seen >= news.debate["argument_count"]:
                return
    except debate_client.ClientError as problem:
        raise api.failure(problem) from problem


def _news(data: Json, seen: int) -> News:
    argument = data.get("argument")
    return News(
        data.get("debate"), [argument] if argument and argument["seq"] > seen else [], words=data.get("text", "")
    )
