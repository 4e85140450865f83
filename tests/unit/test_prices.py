"""What tokens cost, with those that a provider reads from its cache or writes to it."""

import pytest
from genai_prices import Usage as Counted

from app.core.debate import Usage
from app.core.texts import storable_usage
from app.models.table import cost_usd, most_cost_usd

CLAUDE, GPT = "anthropic:claude-sonnet-4-5", "openai:gpt-4o-mini"
MILLION = 1_000_000


def test_the_most_that_tokens_may_cost_is_the_price_of_writing_all_input_to_a_cache() -> None:
    used = Usage(1_000, 100)
    # 3.75 instead of 3 dollars for a million tokens of input, and 15 for output.
    assert cost_usd(CLAUDE, used) == pytest.approx((1_000 * 3 + 100 * 15) / MILLION)
    assert most_cost_usd(CLAUDE, used) == pytest.approx((1_000 * 3.75 + 100 * 15) / MILLION)
    assert most_cost_usd(GPT, used) == cost_usd(GPT, used)
    assert most_cost_usd("openai:my-own-model", used) is None
    assert most_cost_usd("scripted", used) == 0.0


@pytest.mark.parametrize("player", [CLAUDE, GPT])
@pytest.mark.parametrize(("read", "written"), [(0, 0), (900, 0), (0, 1_000), (500, 500)])
def test_no_mixture_of_cached_input_costs_more_than_what_is_reserved(player: str, read: int, written: int) -> None:
    counted = Counted(input_tokens=1_000, output_tokens=100, cache_read_tokens=read, cache_write_tokens=written)
    cost, most = cost_usd(player, counted), most_cost_usd(player, Usage(1_000, 100))
    assert cost is not None
    assert most is not None
    assert cost <= most * (1 + 1e-9)


def test_cached_tokens_are_summed_over_the_calls_of_a_turn_and_stay_when_it_is_stored() -> None:
    both = Usage(10, 2, cached_tokens=8).plus(Usage(10, 2, cached_tokens=4))
    assert (both.input_tokens, both.cached_tokens) == (20, 12)
    assert storable_usage(both).cached_tokens == 12
    assert both.total_tokens == 24, "they are among the input tokens"
