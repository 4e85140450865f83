"""Pages of the list over HTTP with up to a million debates, compared with 1,000."""

import argparse
import http.client
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from app.cli.children import API_COMMAND, Child, end
from app.cli.stack import free_port
from app.settings import Settings
from scripts.benchmarks import filling, report
from scripts.benchmarks.place import another_database, own_servers

SIZES = (1_000, 100_000, 1_000_000)
QUICK_SIZES = (100, 1_000)
REQUESTS = 20
"""Of each page, for one repeat; their median counts."""
AIM = report.Aim(at_most=1.5)

# With a limit where the fewest debates would not fill a page: each is as long with many as with few.
PAGES = {
    "first page": "/debates",
    "status=running": "/debates?status=running&limit=10",
    "status=completed": "/debates?status=completed",
    "state=AWAITING_OPPONENT": "/debates?state=AWAITING_OPPONENT&limit=10",
    "state=CLOSED": "/debates?state=CLOSED",
    "pending_first_opponent": "/debates?pending_first_opponent=true&limit=3",
    "debate_type": "/debates?debate_type=coding_plan_debate",
    "format": "/debates?format=dialogue",
    "q, in 1 title of 100": "/debates?q=harbour&limit=10",
    "q, in every second title": "/debates?q=trams&limit=10",
    "q, in one title": "/debates?q=lighthouse",
    "q, two letters in every second": "/debates?q=ms&limit=10",
    "q, two letters in one title": "/debates?q=gh",
    "q, with % in one title": "/debates?q=100%25",
    "texts, in 1 of 100": "/debates?q=quay&texts=true&limit=10",
    "texts, in every second": "/debates?q=council&texts=true&limit=10",
    "texts, in one": "/debates?q=lantern&texts=true",
    "dashboard, with its counts": "/",
    "dashboard, texts in every second": "/?q=council",
    "dashboard, status=completed": "/?status=completed",
    "state of the system": "/system/status",
}


@dataclass(frozen=True)
class Served:
    """A server on a database with so many debates."""

    size: int
    connection: http.client.HTTPConnection
    deep: str
    """The URL of a page in the middle of the list."""

    def milliseconds(self, path: str) -> float:
        began = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{path}: {answer.status} {body[:200]!r}"
        return (time.perf_counter() - began) * 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="debates in each database")
    parser.add_argument("--repeats", type=int, default=5)


def run(options: argparse.Namespace) -> None:
    sizes, repeats = (QUICK_SIZES, 1) if options.quick else (tuple(options.sizes), options.repeats)
    with own_servers() as settings, _served(settings, sizes) as served:
        found = _measure(served, repeats)
    smallest = sizes[0]
    rows = [
        report.Row(f"{page}, {size:,}", found[page, size], found[page, smallest], AIM, digits=2)
        for page, size in found
        if size != smallest
    ]
    report.head("list", f"milliseconds of a page with more debates, beside {smallest:,}", repeats)
    report.table(rows, f"{smallest:,} debates", "more debates")
    report.save_rows("list", rows, sizes=sizes, requests=REQUESTS)


@contextmanager
def _served(settings: Settings, sizes: tuple[int, ...]) -> Iterator[list[Served]]:
    children: list[Child] = []
    try:
        places = {size: _filled(settings, size) for size in sizes}
        for size, place in places.items():
            children.append(Child("server", API_COMMAND, place, log=settings.data_dir / f"server-{size}.log"))
        yield [_connected(size, place.server_port) for size, place in places.items()]
    finally:
        end(children)


def _filled(settings: Settings, size: int) -> Settings:
    place = another_database(settings, f"list_{size}").with_changes(server_port=free_port("127.0.0.1"))
    filling.fill(place, size, filling.MIXED)
    return place


def _connected(size: int, port: int) -> Served:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    deadline = time.monotonic() + 60
    while True:
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            break
        except OSError:
            assert time.monotonic() < deadline, "the server does not answer"
            connection.close()
            time.sleep(0.1)
    connection.request("GET", f"/debates?limit=1&offset={size // 2}")
    cursor = json.loads(connection.getresponse().read())["data"]["next_cursor"]
    return Served(size, connection, "/debates?" + urlencode({"cursor": cursor}))


def _measure(served: list[Served], repeats: int) -> dict[tuple[str, int], list[float]]:
    found: dict[tuple[str, int], list[float]] = {}
    for number in range(repeats + 1):
        print(f"  {number} of {repeats}" if number else "  warming up", file=sys.stderr)
        for name, path in {**PAGES, "deep cursor page": ""}.items():
            # Request by request in turn, so that whatever else the machine does falls on all sizes.
            taken: dict[int, list[float]] = {one.size: [] for one in served}
            for _ in range(REQUESTS):
                for one in served:
                    taken[one.size].append(one.milliseconds(path or one.deep))
            for size, times in taken.items() if number else ():
                found.setdefault((name, size), []).append(statistics.median(times))
    return found
