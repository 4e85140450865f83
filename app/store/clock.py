"""The database's clock, estimated in this process: machines need not agree on the time.

Every new connection to Postgres sets it; in between, this machine's monotonic clock advances it.
"""

import time
from datetime import UTC, datetime

# Also counts while the machine is suspended, unlike time.monotonic().
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _steady() -> float:
    return time.clock_gettime(_STEADY)


_ahead = time.time() - _steady()
"""Seconds from the steady clock to the database's; by this machine's clock until the first connection."""


def set_clock(database_now: datetime) -> None:
    global _ahead
    _ahead = database_now.timestamp() - _steady()


def seconds_since_1970() -> float:
    return _ahead + _steady()


def now() -> datetime:
    return datetime.fromtimestamp(seconds_since_1970(), UTC)
