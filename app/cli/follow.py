"""Follows one debate over the server's stream until it ends."""

from collections.abc import Callable, Iterator

import debate_client
from app.cli.client import Api
from app.cli.output import Json, note
from app.cli.values import has_ended


def follow(api: Api, debate_id: str, seen: int = 0, check: Callable[[], None] = lambda: None) -> Iterator[Json]:
    """Yields each change until the debate ends, with up to three keys: the current `debate`, an `argument` after
    `seen`, and the `text` that a model generates. Calls `check` after each lost connection, which may raise."""

    def on_lost(losses: int) -> None:
        check()
        if losses == 1:
            note("The connection was lost; reconnecting …")

    try:
        for event in api.client.events(debate_id, changes=True, on_lost=on_lost):
            news = {name: event.data[name] for name in ("debate", "argument", "text") if event.data.get(name)}
            if "argument" in news:
                if news["argument"]["seq"] <= seen:
                    del news["argument"]
                else:
                    seen = news["argument"]["seq"]
            if news:
                yield news
            # A replay has the current debate with each argument, not only with the last.
            debate = news.get("debate")
            if debate is not None and has_ended(debate) and seen >= debate["argument_count"]:
                return
    except debate_client.ClientError as problem:
        raise api.failure(problem) from problem
