"""Rate limits: requests per minute of one key or address."""

from dataclasses import dataclass

OFF = "off"


@dataclass(frozen=True, slots=True)
class RateLimits:
    reads: int = 1200
    writes: int = 300
    sockets: int = 120
    """Streams and WebSockets that are opened."""
    contributions: int = 60
    """Contributions of one agent; they count as writes too."""

    @classmethod
    def parsed(cls, given: str) -> "RateLimits | None":
        """From `reads=100,writes=20`; what is not named keeps its default. None for `off`."""
        if given.strip().lower() == OFF:
            return None
        limits: dict[str, int] = {}
        for part in given.split(","):
            name, _, count = (word.strip() for word in part.partition("="))
            if name not in cls.__slots__:
                raise ValueError(f"{name!r} is none of {', '.join(cls.__slots__)}, nor `{OFF}`")
            if name in limits:
                raise ValueError(f"{name} is named twice")
            if not (count.isascii() and count.isdecimal()) or not 1 <= int(count) <= 1_000_000:
                raise ValueError(f"{name} must be a whole number from 1 to 1000000")
            limits[name] = int(count)
        return cls(**limits)
