"""What is wrong with an experiment as it was written down, and where."""

Place = tuple[str | int, ...]
"""The keys and indexes that lead to it: `("contestants", 1, "player")`."""


class SpecProblem(Exception):
    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
