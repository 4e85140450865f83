"""The three seats of a debate, and the one mapping between their two published names."""

from enum import StrEnum


class Seat(StrEnum):
    """A seat; its value is the role that the wire says."""

    PROPOSER = "proposer"
    OPPONENT = "opponent"
    ARBITRATOR = "arbitrator"

    @property
    def role(self) -> str:
        return self.value

    @property
    def actor(self) -> str:
        """The name that the cursor and the database say."""
        return _ACTOR_OF[self]

    @classmethod
    def of_actor(cls, actor: str) -> "Seat":
        return _SEAT_OF[actor]


_ACTOR_OF = {
    Seat.PROPOSER: "debater_a",
    Seat.OPPONENT: "debater_b",
    Seat.ARBITRATOR: "judge",
}
_SEAT_OF = {actor: seat for seat, actor in _ACTOR_OF.items()}
