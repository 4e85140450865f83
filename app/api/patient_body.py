"""A request's body as gunicorn reads it, with a deadline, and with words for what is wrong with it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any

import gevent
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import BadRequest, ClientDisconnected, HTTPException, RequestTimeout

READ_ANYWAY_BYTES = 64 * 1024
"""A body that nobody wanted is read to its end if it is no longer than this, so that its connection can be kept."""
_PIECE_BYTES = 4096


class PatientBody:
    def __init__(
        self, body: Any, waiting: Callable[[float, Any], AbstractContextManager[None]], seconds: float
    ) -> None:
        self._body = body
        self._waiting = waiting
        self._seconds = seconds
        self._until = monotonic() + seconds
        self._left_over: bool | None = None
        self.failed = False
        """gunicorn looks at this: where the next request begins is not known, so the connection must end."""

    def read(self, size: int | None = None) -> bytes:
        # However fast it comes, others have their turn between two pieces.
        gevent.sleep(0)
        try:
            with self._waiting(max(self._until - monotonic(), 0.001), _TooSlow):
                data: bytes = self._body.read(size)
                return data
        except (_TooSlow, gevent.Timeout):
            raise self._end(RequestTimeout(f"The body did not come within {self._seconds:g} seconds")) from None
        except ParseException as problem:
            raise self._end(BadRequest(f"The body is not sent as HTTP wants it: {problem}")) from None
        except OSError:
            raise self._end(ClientDisconnected()) from None

    def is_left_over(self) -> bool:
        """When the answer begins: is there more of it than is worth reading? Then the connection must end with it."""
        if self._left_over is None:
            self._left_over = self.failed or self._cannot_be_finished()
        return self._left_over

    def _cannot_be_finished(self) -> bool:
        if getattr(self._body.reader, "length", 0) > READ_ANYWAY_BYTES:
            return True
        try:
            return all(self.read(_PIECE_BYTES) for _ in range(READ_ANYWAY_BYTES // _PIECE_BYTES))
        except HTTPException:
            return True

    def _end(self, problem: HTTPException) -> HTTPException:
        self.failed = True
        return problem


class _TooSlow(Exception):
    """Nobody outside hears of this."""
