"""Student's t distribution: its distribution function and its quantiles.

F(t; v) = 1 - I(v / (v + t²); v/2, 1/2) / 2 for t ≥ 0, with the regularised incomplete beta function I by its continued
fraction. Source: Press et al., Numerical Recipes, 3rd ed. (2007), sections 6.4 and 6.14.
"""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p

_TINY = 1e-300
_PRECISION = 1e-15


def two_sided_p(t: float, freedom: float) -> float:
    """The probability of a value at least as far from zero as t."""
    if t == 0.0:
        return 1.0
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=4096)
def quantile(probability: float, freedom: float) -> float:
    """The t below which a share `probability` of the distribution lies. By bisection, to the last digits of a float."""
    if not 0.0 < probability < 1.0:
        raise ValueError("a quantile is asked for a probability between 0 and 1")
    if probability < 0.5:
        return -quantile(1.0 - probability, freedom)
    tail = 2.0 * (1.0 - probability)
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > tail:
        low, high = high, high * 2.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if two_sided_p(middle, freedom) > tail else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I(x; a, b), the regularised incomplete beta function."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):  # where the fraction converges quickly; else by symmetry
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    change = inf
    m = 0
    while abs(change - 1.0) > _PRECISION and m < 10_000:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + step * d)
            c = _away_from_zero(1.0 + step / c)
            change = c * d
            value *= change
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
