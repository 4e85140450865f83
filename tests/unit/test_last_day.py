"""The last day in figures."""

from datetime import UTC, datetime, timedelta

from app.store.last_day import Delays, HourOfPlayer
from app.usecases.last_day import HOURS, summed

FIRST = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_hours_and_models_are_summed_and_no_hour_is_left_out():
    day = summed(
        [
            HourOfPlayer(FIRST, "scripted", 5, 0, 0.0),
            HourOfPlayer(FIRST, "openai:gpt-5-mini", 2, 300, 0.5),
            HourOfPlayer(FIRST + timedelta(hours=23), "openai:gpt-5-mini", 1, 100, 0.25),
            HourOfPlayer(FIRST + timedelta(hours=23), "lab:small", 1, 500, 0.0),
            # Between the first hour and the first turn of it, by another clock.
            HourOfPlayer(FIRST - timedelta(hours=1), "scripted", 9, 0, 0.0),
        ],
        FIRST,
        {FIRST: 4, FIRST - timedelta(hours=1): 1},
        Delays({FIRST + timedelta(hours=23): 1.5}, 0.75),
    )
    assert len(day.hours) == HOURS
    assert [hour.turns for hour in day.hours] == [7, *[0] * 22, 2]
    assert (day.turns, day.tokens, day.cost_usd) == (9, 900, 0.75)
    assert day.models == (("lab:small", 1, 500, None), ("openai:gpt-5-mini", 3, 400, 0.75))
    assert not day.is_cut
    assert [hour.failures for hour in day.hours] == [4, *[0] * 23]
    assert [hour.delay_seconds for hour in day.hours] == [*[0.0] * 23, 1.5]
    assert (day.failures, day.delay_seconds) == (4, 0.75)
