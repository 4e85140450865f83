"""Why a move was refused, in a person's words."""

import pytest
from core_builders import EVERY_SEAT, a_debate, a_move

from app.core.debate import State, Status, TurnType
from app.core.errors import ActionNotAllowed
from app.core.machine import decide
from app.core.seats import Seat

JUDGE, PROPOSER, OPPONENT = Seat.ARBITRATOR, Seat.PROPOSER, Seat.OPPONENT


@pytest.mark.parametrize(
    ("debate", "seat", "kind", "says"),
    [
        (a_debate(State.AWAITING_PROPOSER), OPPONENT, TurnType.CLAIM, "It is the proposer's turn"),
        (a_debate(State.AWAITING_ARBITRATOR), OPPONENT, TurnType.CLAIM, "It is the judge's turn"),
        (
            a_debate(State.AWAITING_ARBITRATOR, workers=frozenset({JUDGE})),
            OPPONENT,
            TurnType.CLAIM,
            "It is the judge's turn: scripted is thinking",
        ),
        (
            a_debate(State.AWAITING_OPPONENT, workers=EVERY_SEAT),
            OPPONENT,
            TurnType.CLAIM,
            "scripted holds the seat of the opponent and speaks for itself",
        ),
        (a_debate(State.AWAITING_PROPOSER), OPPONENT, TurnType.APPEAL, "Only the proposer can call the judge"),
        (a_debate(State.AWAITING_PROPOSER), PROPOSER, TurnType.RULING, "Only the judge can rule"),
        (a_debate(State.INTERVENTION_PENDING), PROPOSER, TurnType.CLAIM, "a person must rule before it goes on"),
        (
            a_debate(State.AWAITING_ARBITRATOR),
            JUDGE,
            TurnType.QUESTION,
            "The judge cannot ask a question at this point",
        ),
        (a_debate(State.AWAITING_OPPONENT, status=Status.FAILED), PROPOSER, TurnType.CLAIM, "when somebody resumes it"),
        (a_debate(State.CLOSED), PROPOSER, TurnType.CLAIM, "The debate is closed"),
    ],
)
def test_a_refusal_says_why_as_a_person_would(debate, seat, kind, says):
    with pytest.raises(ActionNotAllowed) as refused:
        decide(debate, a_move(seat, kind))
    explanation = refused.value.context["explanation"]
    assert says in explanation
    assert "'" not in explanation.replace("'s ", " ")
    assert "arbitrator" not in explanation
    assert "AWAITING" not in explanation
