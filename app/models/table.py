"""Prices, context windows and names of models, from the installed release of genai-prices."""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from app.core.debate import Usage
from app.core.model_calls import INSTRUCTIONS_BYTES, answer_tokens, context_tokens
from app.core.players import SeatSetup, model_of

# Imported lazily below: the table is large, and not every process needs it.
if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_NOT_FOR_DEBATES = re.compile(
    r"embed|audio|tts|whisper|transcri|speech|image|dall-e|vision|moderation|realtime|live|rerank|ocr|search|safeguard|^ft:"
)


def _in_table(player: str, usage: Any) -> "PriceCalculation | None":
    """The player's model and the price of these tokens; None if the table does not have the model."""
    from genai_prices import calc_price

    provider, name = model_of(player) or ("", "")
    try:
        return calc_price(usage, name, provider_id=provider)
    except LookupError:
        return None


def cost_usd(player: str, usage: Any) -> float | None:
    """The price of these tokens, or None if the table does not have the model. Players without a provider are free.

    `usage` counts tokens under genai-prices' names (`input_tokens`, `output_tokens`, `cache_read_tokens` …).
    """
    if model_of(player) is None:
        return 0.0
    found = _in_table(player, usage)
    return float(found.total_price) if found else None


def most_cost_usd(player: str, usage: Usage) -> float | None:
    """The highest price of these tokens: some providers ask more for input that they write to their cache."""
    from genai_prices import Usage as Counted

    read, said = usage.input_tokens, usage.output_tokens
    written = Counted(input_tokens=read, cache_write_tokens=read, output_tokens=said)
    prices = [cost_usd(player, each) for each in (usage, written)]
    return max((price for price in prices if price is not None), default=None)


@lru_cache(maxsize=1_000)
def has_price(player: str) -> bool:
    return cost_usd(player, Usage(input_tokens=1, output_tokens=1)) is not None


@lru_cache(maxsize=1_000)
def context_window(player: str) -> int | None:
    """In tokens; None if the table does not have it."""
    found = _in_table(player, Usage()) if model_of(player) else None
    return found.model.context_window if found else None


def shown_tokens(setup: SeatSetup, cap: int | None, instructions_bytes: int | None = None) -> int:
    """The maximum part of a debate for the model in a seat. Estimates the size of the instructions if not given."""
    return context_tokens(
        setup.player,
        context_window(setup.player),
        cap,
        answer_tokens(setup),
        instructions_bytes or INSTRUCTIONS_BYTES + len((setup.persona or "").encode()),
    )


@cache
def models_of(provider: str) -> tuple[str, ...]:
    """For forms: models with a known context window, whose names do not exclude that they write texts."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        found = get_snapshot().find_provider(None, provider, None)
    except LookupError:
        return ()
    return tuple(sorted(one.id for one in found.models if one.context_window and not _NOT_FOR_DEBATES.search(one.id)))
