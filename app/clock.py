"""The database's clock, as this process knows it: machines need not agree on the time.

Every new connection to Postgres sets it. In between this machine's steady clock carries it on, which nobody puts
forward or back.
"""

import time
from datetime import datetime

# Goes on while a machine sleeps, unlike time.monotonic().
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _steady() -> float:
    return time.clock_gettime(_STEADY)


_ahead = time.time() - _steady()
"""Of the steady clock. Until the first connection, as this machine says."""


def set_clock(database_now: datetime) -> None:
    global _ahead
    _ahead = database_now.timestamp() - _steady()


def seconds_since_1970() -> float:
    return _ahead + _steady()
