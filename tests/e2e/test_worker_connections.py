"""Thinking holds no connection: a worker that thinks about hundreds of debates at once needs a handful."""

import pytest
from harness import Place, wait_until

from app.core.access import OPERATOR
from app.core.players import SCRIPTED, SeatSetup
from app.core.schedules import ROUNDS
from app.core.seats import Seat
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from worker.process import DATABASE_CONNECTIONS

pytestmark = pytest.mark.long

DEBATES = 500


@pytest.mark.timeout(300)
def test_five_hundred_thinking_debates_do_not_need_five_hundred_connections(place: Place, services: Services) -> None:
    seats = {seat: SeatSetup(SCRIPTED, think_seconds=600) for seat in Seat}
    for number in range(DEBATES):
        motion = NewDebate("Many", "general_debate", "Think", f"many-{number}", schedule=ROUNDS, seats=seats)
        create_debate(services, OPERATOR, motion)
    worker = place.start_worker(worker_concurrency=DEBATES, claim_seconds=15)
    seen = [0]

    def all_think() -> bool:
        [(connections, thinking)] = place.sql(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            "        AND starts_with(application_name, 'debate-worker:')),"
            "       (SELECT count(*) FROM debates WHERE claim_token IS NOT NULL)"
        )
        seen.append(connections)
        return bool(thinking == DEBATES)

    wait_until(all_think, 240, f"{DEBATES} debates are thought about at once")
    # Told to end, it would wait for the thinkers first.
    worker.kill()
    assert 0 < max(seen) <= DATABASE_CONNECTIONS
