"""Every row of the access rules, allowed and refused. The ways in are tested in integration/test_access_rules.py."""

from uuid import UUID

import pytest

from app.core.access import (
    DEFAULT_SCOPES,
    OPERATOR,
    Action,
    Agent,
    Operator,
    Scope,
    require,
    require_control,
    require_creation,
    require_impartial,
    require_seat,
)
from app.core.errors import Forbidden, InvalidInput
from app.core.players import SeatSetup
from app.core.seats import Seat

ME, OTHER = UUID(int=1), UUID(int=2)
EVERYTHING = frozenset(Scope)


def agent(*scopes):
    return Agent(ME, "me", frozenset(Scope(scope) for scope in scopes))


def seats(**bound):
    """All external; each bound to the agent given for its role."""
    return {
        seat: SeatSetup("external", agent_id=str(bound[seat.role]) if seat.role in bound else None) for seat in Seat
    }


def may(check, *arguments):
    try:
        check(*arguments)
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize("action", Action, ids=lambda action: action.name)
@pytest.mark.parametrize("operator", [OPERATOR, Operator(has_token=False)], ids=["token", "open"])
def test_the_operator_may_do_everything(action, operator):
    require(operator, action)
    for seat in Seat:
        require_seat(operator, action, seat, seats(proposer=ME, opponent=OTHER, arbitrator=OTHER))
    require_control(operator, seats(proposer=OTHER), ())
    require_creation(operator, seats(proposer=OTHER))


def test_a_refusal_for_want_of_a_scope_names_it():
    with pytest.raises(Forbidden) as refused:
        require(agent("read"), Action.RULE)
    assert refused.value.context == {"required_scope": "arbitrate"}


@pytest.mark.parametrize(
    ("bound", "seat", "allowed"),
    [
        ({}, Seat.PROPOSER, True),
        ({}, Seat.OPPONENT, True),
        ({"opponent": ME}, Seat.OPPONENT, True),
        ({"opponent": OTHER}, Seat.OPPONENT, False),
        ({"opponent": OTHER}, Seat.PROPOSER, True),
        ({"opponent": ME}, Seat.PROPOSER, False),
        ({"opponent": ME, "proposer": ME}, Seat.PROPOSER, True),
        ({"opponent": ME, "proposer": OTHER}, Seat.PROPOSER, False),
        ({"arbitrator": ME}, Seat.PROPOSER, False),
    ],
    ids=str,
)
def test_who_speaks_from_a_seat(bound, seat, allowed):
    assert may(require_seat, agent(*EVERYTHING), Action.SPEAK, seat, seats(**bound)) == allowed


@pytest.mark.parametrize(
    ("bound", "rules", "controls"),
    [
        ({}, True, True),
        ({"arbitrator": ME}, True, True),
        ({"arbitrator": OTHER}, False, True),
        ({"opponent": ME}, False, False),
        ({"proposer": ME}, False, False),
        ({"proposer": OTHER, "opponent": OTHER}, True, True),
        ({"proposer": ME, "arbitrator": ME}, False, False),
        ({"opponent": ME, "arbitrator": ME}, False, False),
    ],
    ids=str,
)
def test_who_rules_and_who_stops_pauses_resumes_and_deletes(bound, rules, controls):
    for caller, has_scope in ((agent(*EVERYTHING), True), (agent(*DEFAULT_SCOPES), False)):
        assert may(require_seat, caller, Action.RULE, Seat.ARBITRATOR, seats(**bound)) == (rules and has_scope)
        assert may(require_control, caller, seats(**bound), ()) == (controls and has_scope)


@pytest.mark.parametrize(
    ("spoke", "allowed"),
    [((), True), ((Seat.ARBITRATOR,), True), ((Seat.PROPOSER,), False), ((Seat.ARBITRATOR, Seat.OPPONENT), False)],
    ids=str,
)
def test_who_has_spoken_as_a_debater_neither_rules_nor_controls(spoke, allowed):
    everyone = seats()
    assert may(require_seat, agent(*EVERYTHING), Action.RULE, Seat.ARBITRATOR, everyone, spoke) == allowed
    assert may(require_control, agent(*EVERYTHING), everyone, spoke) == allowed
    assert may(require_impartial, agent(*EVERYTHING), "judge the debate", everyone, spoke) == allowed
    assert may(require_seat, agent(*EVERYTHING), Action.SPEAK, Seat.PROPOSER, everyone, spoke)
    require_control(OPERATOR, everyone, spoke)


@pytest.mark.parametrize(
    ("bound", "allowed"),
    [({}, True), ({"proposer": ME}, True), ({"proposer": OTHER}, False), ({"opponent": OTHER}, True)],
    ids=str,
)
def test_who_creates(bound, allowed):
    assert may(require_creation, agent("debate"), seats(**bound)) == allowed
    assert not may(require_creation, agent("read", "arbitrate"), seats(**bound))


@pytest.mark.parametrize("role", ["proposer", "opponent"])
@pytest.mark.parametrize("caller", [agent(*EVERYTHING), OPERATOR], ids=["agent", "operator"])
def test_nobody_binds_one_agent_to_a_debaters_seat_and_to_the_judges(caller, role):
    with pytest.raises(InvalidInput, match="arbitrator"):
        require_creation(caller, seats(**{role: ME, "arbitrator": ME}))
    require_creation(caller, seats(**{role: ME, "arbitrator": OTHER}))


def test_a_key_is_not_shown_where_an_agent_is_printed():
    assert "secret" not in repr(Agent(ME, "me", EVERYTHING, credential=b"secret"))
