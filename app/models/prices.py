"""The price of a model's tokens, from the table in the installed release of genai-prices."""

from typing import Any

from app.core.debate import Usage
from app.core.players import model_of


def cost_usd(player: str, usage: Any) -> float | None:
    """The price of these tokens, or None if the table does not have the model. Players without a provider are free.

    `usage` counts tokens under genai-prices' names (`input_tokens`, `output_tokens`, `cache_read_tokens` …).
    """
    model = model_of(player)
    if model is None:
        return 0.0
    # Imported lazily: the table is large, and not every process needs it.
    from genai_prices import calc_price

    provider, name = model
    try:
        return float(calc_price(usage, name, provider_id=provider).total_price)
    except LookupError:
        return None


def has_price(player: str) -> bool:
    return cost_usd(player, Usage(input_tokens=1, output_tokens=1)) is not None
