"""The scripted judge of a long debate weighs every round of it, also those that a claim does not bring along."""

import pytest
from claimed_debates import a_debate, is_closed, until
from harness import Place
from worker_loop import PATIENCE_SECONDS, live_runner

from app.core.brief import Brief
from app.core.debate import Cursor, Limits, Status
from app.core.players import SCRIPTED, SeatSetup
from app.core.schedules import FINAL_RULING, INTERACTIVE, Schedule
from app.core.seats import Seat
from app.core.verdicts import SIDES
from app.usecases.advance import RECENT_TURNS
from app.usecases.read import get_transcript
from app.usecases.services import Services
from worker.players.scripted.judge import ruling

ROUNDS = 9


@pytest.mark.parametrize("form", [FINAL_RULING, INTERACTIVE])
async def test_the_closing_ruling_is_the_mean_of_all_rounds(services: Services, place: Place, form: Schedule) -> None:
    assert 2 * ROUNDS > RECENT_TURNS
    seats = {seat: SeatSetup(SCRIPTED) for seat in Seat}
    # Scores come from the debate's id, which comes from this: of one debate in some dozens they would be the same.
    request = "all rounds are weighed"
    debate = a_debate(services, client_request_id=request, schedule=form, seats=seats, limits=Limits(max_rounds=ROUNDS))

    async with live_runner(services) as runner:
        runner.hint(debate.id)
        await until(lambda: is_closed(place, debate), PATIENCE_SECONDS, "the debate is closed")
    transcript = get_transcript(services, debate.id, None)
    closed, spoken = transcript.debate, transcript.arguments
    judged = closed.evolve(status=Status.RUNNING, cursor=Cursor(ROUNDS, Seat.ARBITRATOR), verdict=None, standing=None)
    whole = ruling(Brief(judged, transcript.motion, spoken[:-1])).verdict
    assert whole is not None
    assert closed.verdict is not None
    assert {side: closed.verdict.scores[side] for side in SIDES} == whole.scores
    last = ruling(Brief(judged, transcript.motion, spoken[:-1][-RECENT_TURNS:])).verdict
    assert last is not None
    assert last.scores != whole.scores, "or the last rounds alone would do"
