"""What somebody in a seat should do next: every state, role and last argument, against a table written by hand."""

from itertools import product

import pytest

from app.core.debate import State, TurnType
from app.core.guidance import NextAction, action_for
from app.core.seats import Seat

# state and role: the action after MOTION, CLAIM, APPEAL, RESOLUTION, INTERVENTION, RULING, QUESTION
TABLE = """
AWAITING_PROPOSER     proposer  respond           respond           respond           respond           respond           align_to_ruling respond
AWAITING_PROPOSER     opponent  wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer
AWAITING_OPPONENT     proposer  wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent
AWAITING_OPPONENT     opponent  respond           respond           respond           respond           respond           respond respond
AWAITING_ARBITRATOR   proposer  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
AWAITING_ARBITRATOR   opponent  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
INTERVENTION_PENDING  proposer  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
INTERVENTION_PENDING  opponent  wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling   wait_for_ruling wait_for_ruling
AWAITING_PROPOSER     arbitrator wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer wait_for_proposer
AWAITING_OPPONENT     arbitrator wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent wait_for_opponent
AWAITING_ARBITRATOR   arbitrator rule              rule              rule              rule              rule              rule rule
INTERVENTION_PENDING  arbitrator rule              rule              rule              rule              rule              rule rule
CLOSED                arbitrator debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
CLOSED                proposer  debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
CLOSED                opponent  debate_closed     debate_closed     debate_closed     debate_closed     debate_closed     debate_closed debate_closed
"""  # noqa: E501 (a table is read across)
TYPES = ["MOTION", "CLAIM", "APPEAL", "RESOLUTION", "INTERVENTION", "RULING", "QUESTION"]
CELLS = [
    (state, role, latest, action)
    for state, role, *actions in (line.split() for line in TABLE.strip().splitlines())
    for latest, action in zip(TYPES, actions, strict=True)
]


def test_the_table_by_hand_is_whole():
    assert {cell[:3] for cell in CELLS} == set(product(State, (seat.role for seat in Seat), TurnType))
    assert {cell[3] for cell in CELLS} == set(NextAction) - {NextAction.ASK}


def test_the_judge_asks_before_the_last_round_of_a_format_in_which_it_does():
    asked = {(state, seat): action_for(state, seat, TurnType.CLAIM, asks=True) for state, seat in product(State, Seat)}
    assert [key for key, action in asked.items() if action is NextAction.ASK] == [
        (State.AWAITING_ARBITRATOR, Seat.ARBITRATOR)
    ]


@pytest.mark.parametrize(("state", "role", "latest", "action"), CELLS)
def test_the_action_follows_from_the_state_the_role_and_the_last_argument(state, role, latest, action):
    assert action_for(State(state), Seat(role), TurnType(latest)) == action
