"""The three seats of a debate, and the one mapping between their two published names."""

from enum import StrEnum


class Seat(StrEnum):
    """The value is the role, as the API names it.

    Both names are plain attributes: a page of the list reads them hundreds of times.
    """

    PROPOSER = "proposer", "debater_a"
    OPPONENT = "opponent", "debater_b"
    ARBITRATOR = "arbitrator", "judge"

    role: str
    actor: str
    """The name in the cursor and in the database."""

    # That of an enumeration is a call of Python, and every look-up of a seat pays for it.
    __hash__ = str.__hash__

    # The default is for type checkers, which read `Seat("proposer")` as a call of this.
    def __new__(cls, role: str, actor: str = "") -> "Seat":
        seat = str.__new__(cls, role)
        seat._value_ = seat.role = role
        seat.actor = actor
        return seat

    @property
    def word(self) -> str:
        """The name for people, who read "judge" where the API says "arbitrator"."""
        return "judge" if self is Seat.ARBITRATOR else self.role

    @classmethod
    def of_actor(cls, actor: str) -> "Seat":
        return _SEAT_OF[actor]


_SEAT_OF = {seat.actor: seat for seat in Seat}
