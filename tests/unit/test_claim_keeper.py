"""Which players are told to give up, and which claims are kept alive."""

from uuid import UUID, uuid4

from worker.claims import ClaimKeeper


class Claims:
    """The database's side of it."""

    def __init__(self) -> None:
        self.live: set[UUID] = set()
        self.asked: list[tuple[UUID, UUID]] = []

    def renew(self, held: list[tuple[UUID, UUID]]) -> set[UUID]:
        self.asked = held
        return {token for _, token in held if token in self.live}

    def new(self) -> UUID:
        token = uuid4()
        self.live.add(token)
        return token


def test_a_player_whose_claim_is_lost_is_told_so() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    kept, lost = claims.new(), claims.new()
    events = keeper.hold(uuid4(), kept), keeper.hold(uuid4(), lost)
    claims.live.remove(lost)
    keeper.renew_all()
    assert [event.is_set() for event in events] == [False, True]


def test_a_debate_claimed_again_here_does_not_hide_the_claim_that_was_lost() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    debate_id = uuid4()
    before, after = claims.new(), claims.new()
    events = keeper.hold(debate_id, before), keeper.hold(debate_id, after)
    claims.live.remove(before)
    keeper.renew_all()
    assert [event.is_set() for event in events] == [True, False]
    keeper.let_go(before)
    keeper.renew_all()
    assert claims.asked == [(debate_id, after)]


def test_a_shutdown_takes_every_turn_away_also_those_that_come_late() -> None:
    claims = Claims()
    keeper = ClaimKeeper(claims.renew)
    events = [keeper.hold(uuid4(), claims.new()) for _ in range(3)]
    keeper.cancel_all()
    assert all(event.is_set() for event in events)
    assert keeper.hold(uuid4(), claims.new()).is_set()


def test_nothing_in_hand_asks_nothing_of_the_database() -> None:
    claims = Claims()
    ClaimKeeper(claims.renew).renew_all()
    assert claims.asked == []
