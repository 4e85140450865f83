"""Amounts of US dollars."""

LEAST_COST_USD = 0.0001
"""Smaller amounts are shown as "under", because four decimals would round them to zero."""


def cost(usd: float | None) -> str:
    """None is the cost of a model whose price is not known."""
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    if usd < LEAST_COST_USD:
        return f"under ${LEAST_COST_USD:.4f}"
    return f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.4f}"


def cost_in_list(usd: float | None) -> str:
    """With its noun, where an unknown cost is among other figures."""
    return "cost unknown" if usd is None else cost(usd)


def spent(usd: float | None, known_usd: float) -> str:
    """Where the price of some calls is not known, the sum of the others."""
    return f"at least {cost(known_usd)}" if usd is None and known_usd else cost(usd)


def of_budget(spent_usd: float | None, budget_usd: float | None) -> str:
    return cost(spent_usd) if budget_usd is None else f"{cost(spent_usd)} of {cost(budget_usd)}"
