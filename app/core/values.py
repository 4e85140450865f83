"""What the values of the core have in common."""

from typing import Any, Self


class Evolving:
    """Base of a frozen dataclass without slots that is copied with changes several times a turn. `dataclasses.replace`
    runs `__init__`, which takes five times as long."""

    def evolve(self, **changes: Any) -> Self:
        if not changes.keys() <= self.__dict__.keys():
            raise TypeError(f"a {type(self).__name__} has no {', '.join(changes.keys() - self.__dict__.keys())}")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made
