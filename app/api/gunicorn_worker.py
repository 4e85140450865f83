"""gunicorn's gevent worker, but a shutdown does not wait for connections on which nothing is happening."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import gevent
from gunicorn.workers.ggevent import GeventWorker


class PromptWorker(GeventWorker):  # type: ignore[misc]
    at_exit: ClassVar[list[Callable[[], None]]] = []
    """Called when this process is told to end, so that requests held open (streams, long polls) end too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: dict[gevent.Greenlet, gevent.Timeout] = {}

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """gunicorn waits in here for the next request of a kept-alive connection."""
        this = gevent.getcurrent()
        with gevent.Timeout(self.cfg.keepalive if self.alive else 0.001, False) as patience:
            self._waiting[this] = patience
            try:
                yield
            finally:
                del self._waiting[this]

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        gevent.spawn(self._end_waiting)

    def _end_waiting(self) -> None:
        """As if their patience had run out: the connection is closed in the ordinary way."""
        for end in self.at_exit:
            end()
        for greenlet, patience in list(self._waiting.items()):
            greenlet.kill(patience, block=False)
