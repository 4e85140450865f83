"""What all workers share: a provider's slots, and a day's money."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from harness import Place, wait_until
from model_place import ModelPlace, model_place
from model_server import INPUT_TOKENS, OUTPUT_TOKENS
from seating import all_played_by

GPT = "openai:gpt-4o-mini"
ALL_GPT = all_played_by(GPT)
CALL_COSTS = INPUT_TOKENS * 0.15e-6 + OUTPUT_TOKENS * 0.6e-6
LIMIT = 6
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def open_debates(at: ModelPlace) -> int:
    return at.place.sql("SELECT count(*) FROM debates WHERE status <> 'completed'")[0][0]


def test_no_more_calls_than_the_limit_are_ever_under_way(make_place: Callable[[], Place], tmp_path: Any) -> None:
    with model_place(make_place, tmp_path, workers=2, model_concurrency=LIMIT) as at:
        at.models.seconds = 0.2
        for _ in range(24):
            at.api.create(seats=ALL_GPT, limits={"max_rounds": 1})
        wait_until(lambda: len(at.models.calls) > LIMIT, 100, "calls are made")
        # While calls wait for a slot: claims are alive, and nobody sits in a transaction or on a connection.
        waiting = at.place.sql("SELECT count(*) FROM debates WHERE claim_token IS NOT NULL")[0][0]
        assert waiting > LIMIT
        assert (
            at.place.sql(
                "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND now() - xact_start > interval '1 second'"
            )
            == []
        )
        wait_until(lambda: open_debates(at) == 0, 200, "all are completed")
        assert LIMIT // 2 < at.models.most_at_once <= LIMIT
        assert len(at.models.calls) == 24 * 3
        wait_until(lambda: at.place.sql("SELECT count(*) FROM provider_slots") == [(0,)], 60, "slots are given back")
        users = at.place.sql("SELECT count(*) FROM worker_leases")
        assert users == [(2,)]


def test_the_slots_of_a_killed_worker_are_free_again(make_place: Callable[[], Place], tmp_path: Any) -> None:
    with model_place(make_place, tmp_path, model_concurrency=2) as at:
        at.models.plan("gpt-4o-mini", "hang", "hang")
        for _ in range(2):
            at.api.create(seats=ALL_GPT, limits={"max_rounds": 1})
        wait_until(lambda: len(at.models.calls) == 2, 100, "both slots are in use")
        os.kill(at.place.programs[-1].pid, signal.SIGKILL)
        at.place.start_worker(model_concurrency=2)
        wait_until(lambda: open_debates(at) == 0, 150, "another worker has held both debates to their end")


def test_a_days_limit_is_shared_and_never_passed(make_place: Callable[[], Place], tmp_path: Any) -> None:
    limit = 0.01  # a turn may cost 0.001 at the most with so small a window, and each call costs a small part of that
    seats = {role: {**seat, "max_tokens": 500} for role, seat in ALL_GPT.items()}
    with model_place(make_place, tmp_path, workers=2, max_cost_usd_per_day=limit, context_tokens=4_000) as at:
        debates = [at.api.create(seats=seats, limits={"max_rounds": 200})["id"] for _ in range(4)]

        def waiting() -> list[dict[str, Any]]:
            found = [at.api.debate(debate_id) for debate_id in debates]
            return [debate for debate in found if debate["last_error"]]

        wait_until(
            lambda: any("a day (UTC) for models is reached" in debate["last_error"] for debate in waiting()),
            200,
            "spent",
        )
        [(reserved, spent)] = at.place.sql("SELECT reserved_usd, spent_usd FROM daily_costs")
        assert reserved + spent <= limit
        assert spent > limit / 2
        debate = next(debate for debate in waiting() if "a day (UTC)" in debate["last_error"])
        assert (debate["status"], debate["attempts"]) == ("running", 0)
        assert f"This server's limit of ${limit:g} a day" in debate["last_error"]
        for debate_id in debates:
            at.api.http.post(f"/debates/{debate_id}/stop")
        wait_until(lambda: at.place.sql("SELECT reserved_usd FROM daily_costs")[0][0] < 1e-9, 60, "all is settled")
        [(spent,)] = at.place.sql("SELECT spent_usd FROM daily_costs")
        assert spent <= limit

        def total() -> float:
            return sum(at.api.debate(debate_id)["usage"]["cost_usd"] for debate_id in debates)

        # A call that was cut off by the stop is in both, by the same guess.
        wait_until(lambda: total() == pytest.approx(spent), 60, "the debates' costs are the day's")
        assert total() >= 0.95 * CALL_COSTS * sum(1 for call in at.models.calls if not call.hung_up_at)


def test_a_model_without_a_price_is_refused_where_a_day_has_a_limit(
    make_place: Callable[[], Place], tmp_path: Any
) -> None:
    with model_place(make_place, tmp_path, workers=0, max_cost_usd_per_day=5) as at:
        body = all_played_by("openai:my-own-model")
        with pytest.raises(AssertionError, match="no price is known for 'openai:my-own-model'"):
            at.api.create(seats=body)
        assert at.api.create(seats=all_played_by("local"))["status"] == "created"
