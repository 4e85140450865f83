"""Which players are told to give up, and which claims are kept alive."""

from uuid import UUID, uuid4

from core_builders import a_debate

from app.core.brief import Brief
from app.core.debate import Debate
from app.usecases.advance import HeldTurn
from worker.claims import ClaimKeeper


class Claims:
    """The database's side of it."""

    def __init__(self) -> None:
        self.live: set[UUID] = set()
        self.asked: list[tuple[UUID, UUID]] = []

    def renew(self, held: list[tuple[UUID, UUID]]) -> set[UUID]:
        self.asked = held
        return {token for _, token in held if token in self.live}

    def held_turn(self, debate: Debate) -> HeldTurn:
        token = uuid4()
        self.live.add(token)
        return HeldTurn(Brief(debate, None, ()), token, "worker")  # type: ignore[arg-type]


def test_a_player_whose_claim_is_lost_is_told_so() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    kept, lost = claims.held_turn(a_debate()), claims.held_turn(a_debate())
    events = keeper.hold(kept), keeper.hold(lost)
    claims.live.remove(lost.token)
    keeper.renew_all()
    assert [event.is_set() for event in events] == [False, True]


def test_a_debate_claimed_again_here_does_not_hide_the_claim_that_was_lost() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    debate = a_debate()
    before, after = claims.held_turn(debate), claims.held_turn(debate)
    events = keeper.hold(before), keeper.hold(after)
    claims.live.remove(before.token)
    keeper.renew_all()
    assert [event.is_set() for event in events] == [True, False]
    keeper.let_go(before)
    keeper.renew_all()
    assert claims.asked == [(debate.id, after.token)]


def test_a_shutdown_takes_every_turn_away() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    events = [keeper.hold(claims.held_turn(a_debate())) for _ in range(3)]
    keeper.cancel_all()
    assert all(event.is_set() for event in events)


def test_nothing_in_hand_asks_nothing_of_the_database() -> None:
    claims = Claims()
    ClaimKeeper(claims.renew).renew_all()
    assert claims.asked == []
