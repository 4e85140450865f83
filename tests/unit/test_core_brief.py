"""What a player is shown of the debate."""

import pytest
from core_builders import EVERY_SEAT, a_debate, a_turn

from app.core.brief import Brief
from app.core.debate import Cursor, Limits, TurnType
from app.core.schedules import BUILT_IN, SIMULTANEOUS, Schedule
from app.core.seats import Seat

MOTION = a_turn(1, 0, Seat.PROPOSER, TurnType.MOTION)
SAID = (
    a_turn(2, 1, Seat.PROPOSER),
    a_turn(3, 1, Seat.OPPONENT),
    a_turn(4, 2, Seat.PROPOSER),
    a_turn(5, None, Seat.ARBITRATOR, TurnType.INTERVENTION),
    a_turn(6, None, Seat.ARBITRATOR, TurnType.RULING),
)


def shown(form: Schedule, seat: Seat) -> list[int]:
    debate = a_debate(form=form, workers=EVERY_SEAT, cursor=Cursor(2, seat), limits=Limits(max_rounds=2))
    return [turn.seq for turn in Brief(debate, MOTION, SAID).recent]


@pytest.mark.parametrize("form", BUILT_IN.values())
def test_only_where_both_speak_at_once_is_the_other_sides_turn_of_the_round_hidden(form: Schedule) -> None:
    hidden = [2, 3, 5, 6] if form is SIMULTANEOUS else [2, 3, 4, 5, 6]
    assert shown(form, Seat.OPPONENT) == hidden


def test_the_judge_is_shown_everything() -> None:
    assert shown(SIMULTANEOUS, Seat.ARBITRATOR) == [2, 3, 4, 5, 6]
