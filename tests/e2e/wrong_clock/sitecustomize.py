"""Python imports this before anything else where it is on the path: the time of day is wrong by WRONG_BY_SECONDS.

The steady clocks are right, as they are on a machine whose time of day was set wrong.
"""

import os
import time

_WRONG_BY_SECONDS = int(os.environ["WRONG_BY_SECONDS"])
_time, _time_ns = time.time, time.time_ns


def _wrong_time() -> float:
    return _time() + _WRONG_BY_SECONDS


def _wrong_time_ns() -> int:
    return _time_ns() + _WRONG_BY_SECONDS * 10**9


time.time, time.time_ns = _wrong_time, _wrong_time_ns
