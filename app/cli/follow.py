"""Following one debate, turn by turn, until it ends or waits for somebody."""

import time
from collections.abc import Iterator

from app.cli.client import Api, Json
from app.cli.show import has_ended

ASK_EVERY_SECONDS = 0.15


def follow(api: Api, debate_id: str, seen: int = 0) -> Iterator[tuple[Json, list[Json]]]:
    """Each change: the debate, and the arguments after the last that was given. Ends when nothing more can come."""
    last_update = None
    while True:
        debate = api.get(f"/debates/{debate_id}", limit=0)["debate"]
        if debate["updated_at"] != last_update:
            last_update = debate["updated_at"]
            transcript = api.get(f"/debates/{debate_id}", limit=max(debate["argument_count"] - seen, 0))
            debate = transcript["debate"]
            new = [argument for argument in [transcript["motion"], *transcript["arguments"]] if argument["seq"] > seen]
            seen = debate["argument_count"]
            yield debate, new
        if has_ended(debate):
            return
        time.sleep(ASK_EVERY_SECONDS)
