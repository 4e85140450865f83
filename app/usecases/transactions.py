"""A short transaction, with the places before and after its commit where a test can break it; and what happens when
Postgres undoes one for another's sake."""

import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import structlog

from app import failpoints
from app.store.engine import Connection, ConnectionLost, DatabaseAway
from app.store.trouble import is_conflict, log_words
from app.usecases.services import Services

log = structlog.get_logger(__name__)
_jitter = random.SystemRandom().random
CONFLICT_PAUSES_SECONDS = (0.02, 0.1, 0.4)

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@contextmanager
def transaction(services: Services, name: str) -> Iterator[Connection]:
    with services.engine.begin() as connection:
        yield connection
        failpoints.reach(f"{name}.before_commit", ConnectionLost)
    failpoints.reach(f"{name}.after_commit", ConnectionLost)


def repeated_on_conflict(use_case: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """For every use case that writes: after a deadlock or a serialization failure it is done again from its start.

    Postgres has undone all of it then, and nobody is told of anything before the commit. A connection that was lost is
    another matter, for it does not say whether the commit was made: never repeated here.
    """

    @functools.wraps(use_case)
    def repeated(*args: Given.args, **options: Given.kwargs) -> Answer:
        for pause_seconds in CONFLICT_PAUSES_SECONDS:
            try:
                return use_case(*args, **options)
            except DatabaseAway as problem:
                if not is_conflict(problem):
                    raise
                log.warning("transaction.repeated", use_case=use_case.__name__, problem=log_words(problem))
            time.sleep(pause_seconds * (1 + _jitter()))
        return use_case(*args, **options)

    return repeated
