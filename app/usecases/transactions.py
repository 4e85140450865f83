"""A short transaction, with the places before and after its commit where a test can break it."""

from collections.abc import Iterator
from contextlib import contextmanager

from app import failpoints
from app.store.engine import Connection, ConnectionLost
from app.usecases.services import Services


@contextmanager
def transaction(services: Services, name: str) -> Iterator[Connection]:
    with services.engine.begin() as connection:
        yield connection
        failpoints.reach(f"{name}.before_commit", ConnectionLost)
    failpoints.reach(f"{name}.after_commit", ConnectionLost)
