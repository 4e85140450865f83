"""The context windows of models, from the table in the installed release of genai-prices."""

from functools import lru_cache

from app.core.debate import Usage
from app.core.model_calls import INSTRUCTIONS_BYTES, answer_tokens, context_tokens
from app.core.players import SeatSetup, model_of


@lru_cache(maxsize=1_000)
def context_window(player: str) -> int | None:
    """In tokens; None if the table does not say."""
    model = model_of(player)
    if model is None:
        return None
    # Imported lazily: the table is large, and not every process needs it.
    from genai_prices import calc_price

    provider, name = model
    try:
        return calc_price(Usage(), name, provider_id=provider).model.context_window
    except LookupError:
        return None


def shown_tokens(setup: SeatSetup, cap: int | None, instructions_bytes: int | None = None) -> int:
    """How much of a debate the model in a seat is shown. What the instructions take is estimated if it is not said."""
    return context_tokens(
        setup.player,
        context_window(setup.player),
        cap,
        answer_tokens(setup),
        instructions_bytes or INSTRUCTIONS_BYTES + len((setup.persona or "").encode()),
    )
