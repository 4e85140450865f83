"""The three seats of a debate, and the one mapping between their two published names."""

from enum import StrEnum


class Seat(StrEnum):
    """A seat; its value is the role that the wire says.

    Both names are plain attributes: a page of the list asks for them hundreds of times.
    """

    PROPOSER = "proposer", "debater_a"
    OPPONENT = "opponent", "debater_b"
    ARBITRATOR = "arbitrator", "judge"

    role: str
    actor: str
    """The name that the cursor and the database say."""

    # The default is for type checkers, which take `Seat("proposer")` for the making of a new one.
    def __new__(cls, role: str, actor: str = "") -> "Seat":
        seat = str.__new__(cls, role)
        seat._value_ = seat.role = role
        seat.actor = actor
        return seat

    @classmethod
    def of_actor(cls, actor: str) -> "Seat":
        return _SEAT_OF[actor]


_SEAT_OF = {seat.actor: seat for seat in Seat}
