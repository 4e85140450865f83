"""Turns at a constant rate, with the time of each commit."""

import threading
import time
from dataclasses import replace
from uuid import UUID

from app.core.access import OPERATOR
from app.core.debate import TurnType
from app.core.players import EXTERNAL, SeatSetup
from app.core.seats import Seat
from app.messaging.bus import Event
from app.messaging.publisher import Publisher
from app.usecases.create import NewDebate, create_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit

CONTENT = "Each side has to say why its reasons outweigh the other's, and what would change its mind. " * 6
MOST_THREADS = 4
"""A commit takes a few milliseconds; one thread could not keep up with a hundred a second."""

Committed = dict[tuple[str, int], int]
"""When each turn (debate, seq) was committed, in nanoseconds of the machine's clock."""


def create(services: Services, count: int) -> list[UUID]:
    seats = {seat: SeatSetup(EXTERNAL) for seat in Seat}
    started = time.time_ns()
    return [
        create_debate(
            services,
            OPERATOR,
            NewDebate("Bench", "general_debate", "Cities should ban cars", f"{started}-{number}", seats=seats),
        ).debate.id
        for number in range(count)
    ]


class _Silent:
    def publish(self, *_: object) -> None: ...
    def enqueue(self, *_: object) -> None: ...
    def end_claim(self, _: object) -> None: ...


def untold(services: Services) -> Services:
    """Publishes nothing: there is neither a watcher nor a worker."""
    return replace(services, publisher=_Silent())  # type: ignore[arg-type]


class _NotingPublisher:
    """A publisher that records the time of each turn right after its commit."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.committed: Committed = {}

    def publish(self, *events: Event) -> None:
        now = time.time_ns()
        for event in events:
            self.committed[str(event.debate_id), event.data()["argument"]["seq"]] = now
        self._publisher.publish(*events)

    def enqueue(self, *debate_ids: UUID) -> None:
        self._publisher.enqueue(*debate_ids)

    def end_claim(self, token: UUID | None) -> None:
        self._publisher.end_claim(token)


def argue(services: Services, debate_ids: list[UUID], turns: int, turns_a_second: int) -> tuple[Committed, float]:
    """The commits, and how many seconds all of them took."""
    noting = _NotingPublisher(services.publisher)
    noted = replace(services, publisher=noting)  # type: ignore[arg-type]
    began = time.monotonic()

    def take_turns(numbers: range) -> None:
        for number in numbers:
            time.sleep(max(0.0, began + number / turns_a_second - time.monotonic()))
            seat = (Seat.OPPONENT, Seat.PROPOSER)[number // len(debate_ids) % 2]
            submit(noted, OPERATOR, debate_ids[number % len(debate_ids)], Submission(seat, TurnType.CLAIM, CONTENT))

    # As many as divide the debates evenly: a debate always has the same thread, so its turns are in order.
    count = MOST_THREADS if len(debate_ids) % MOST_THREADS == 0 else 1
    threads = [threading.Thread(target=take_turns, args=(range(own, turns, count),)) for own in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return noting.committed, time.monotonic() - began
