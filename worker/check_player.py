"""`python -m worker.check_player <player>`: one small call to a model, and its result as JSON on stdout.

A separate program: `debate doctor` must not import the worker.
"""

import asyncio
import json
import sys
import time

from app.core.players import LOCAL, why_unknown
from app.core.retry import PlayerError
from app.models.table import has_price
from app.settings import ProviderSettings, Settings, settings_or_exit
from worker.players.models.adapter import Adapter, Question, Reply
from worker.players.models.local import LocalModel

_MAX_TOKENS = 64


def check(player: str) -> dict[str, object]:
    settings = settings_or_exit()
    problem = why_unknown(player, settings.endpoint_urls)
    if problem:
        return {"is_well": False, "says": problem, "advice": "docs/models.md lists what can fill a seat"}
    if player != LOCAL and ":" not in player:
        return {"is_well": True, "says": f"{player} is not a model and needs no check", "advice": None}
    began = time.monotonic()
    try:
        reply = asyncio.run(_call(settings, player))
    except PlayerError as failure:
        says = f"{failure.message} {failure.detail or ''}".strip()
        return {"is_well": False, "says": says, "advice": "docs/models.md says what each failure means"}
    usage = reply.usage
    cost = f"${usage.cost_usd:.6f}" if has_price(player) else "no price known, so a cost limit would be refused"
    says = (
        f"{player} answered in {time.monotonic() - began:.1f} s: {usage.input_tokens} tokens in, "
        f"{usage.output_tokens} out, {cost}"
    )
    return {"is_well": True, "says": says, "advice": None}


async def _call(settings: Settings, player: str) -> Reply:
    adapter = Adapter(ProviderSettings(), settings.model_timeout_seconds, settings.endpoint_urls)
    question = Question(player, "Answer with one word.", ("Say hello.",), None, _MAX_TOKENS)
    if player != LOCAL:
        return await adapter.ask(question, lambda _: None)
    local = LocalModel()
    try:
        async with local.ready() as base_url:
            return await adapter.ask(question, lambda _: None, base_url)
    finally:
        local.close()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(check(sys.argv[1])) + "\n")
