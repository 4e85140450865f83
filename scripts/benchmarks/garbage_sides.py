"""What `scripts/bench garbage` starts: our application in a process of gevent, and both sides in turn."""

# ruff: noqa: E402
from gevent import monkey

monkey.patch_all()

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gevent.pool import Pool
from werkzeug.test import EnvironBuilder

from app.bootstrap import freeze_garbage_collector
from app.web.wsgi import application, services
from scripts.benchmarks import arguing
from scripts.benchmarks.garbage import IN_FLIGHT

DEBATES = 60


def _measure(requests: int, repeats: int) -> dict[str, dict[str, list[float]]]:
    """The sides take turns in one process, and only its own CPU counts: other work on the machine hardly matters."""
    debate_ids = arguing.create(services, DEBATES)
    paths = {
        "list": ["/debates"],
        "poll": [f"/debates/{one}/poll?role=opponent" for one in debate_ids],
    }
    pool = Pool(IN_FLIGHT)

    def ask(path: str) -> None:
        statuses: list[str] = []
        answer = application(EnvironBuilder(path=path).get_environ(), lambda status, *_: statuses.append(status))
        b"".join(answer)
        with suppress(AttributeError):
            answer.close()
        assert statuses[0].startswith("200"), statuses

    def cpu_us(asked: list[str]) -> float:
        began = time.process_time()
        pool.map(ask, [asked[number % len(asked)] for number in range(requests)])
        return (time.process_time() - began) / requests * 1e6

    found: dict[str, dict[str, list[float]]] = {kind: {"default": [], "frozen": []} for kind in (*paths, "pause")}
    for number in range(repeats + 1):
        for side, setting_up in SIDES.items():
            setting_up()
            for kind, asked in paths.items():
                took = cpu_us(asked)
                if number:
                    found[kind][side].append(took)
            began = time.process_time()
            gc.collect()
            if number:
                found["pause"][side].append((time.process_time() - began) * 1e3)
    return found


def _default() -> None:
    gc.unfreeze()
    gc.set_threshold(*_PYTHONS)


def _frozen() -> None:
    freeze_garbage_collector()


_PYTHONS = (700, 10, 10)
SIDES: dict[str, Callable[[], Any]] = {"default": _default, "frozen": _frozen}

if __name__ == "__main__":
    print(json.dumps(_measure(*map(int, sys.argv[1:]))), flush=True)
    # The threads of the application would continue.
    os._exit(0)
