"""How many matches an experiment with a budget may begin: only as many as the budget also finishes."""

from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 2.0
"""What a match may cost compared with the matches before it, each as a share of its maximum."""


@dataclass(frozen=True, slots=True)
class Money:
    left_usd: float
    """Of the budget: what is not spent."""
    begun_usd: float
    """The maximum that matches in progress, and judgments of debates that have ended, can still cost."""
    is_begun: bool
    """Whether there are any."""
    largest_call_usd: float
    """No call begins that could pass the budget: this much must be left until the last one."""


@dataclass(frozen=True, slots=True)
class Spent:
    """By the matches that are over, compared with their maximum."""

    usd: float
    most_usd: float

    @property
    def share(self) -> float:
        """Of its maximum, what a match costs. All of it before one is over."""
        return min(1.0, self.usd / self.most_usd) if self.most_usd > 0 else 1.0


def may_begin(money: Money, most_usd: Sequence[float], spent: Spent) -> int:
    """How many of the next matches, whose maxima these are. Where nothing is in progress, one begins that is expected
    to fit, although it could cost more: otherwise the last part of a budget would never be used. 0 then means that the
    budget is used up."""
    share = min(1.0, MARGIN * spent.share)
    needed = money.largest_call_usd + money.begun_usd * share
    count = 0
    for most in most_usd:
        needed += most * share
        if needed > money.left_usd:
            break
        count += 1
    if count or not most_usd or money.is_begun:
        return count
    expected = most_usd[0] * spent.share if spent.most_usd > 0 else 0.0
    return int(max(expected, money.largest_call_usd) <= money.left_usd)
