"""Six people do what they like with debates and experiments of models, while workers die: everything comes to rest."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Place
from model_place import model_place
from random_operations import (
    LOSSY,
    MAX_IDLE_TRANSACTIONS,
    THREADS,
    Operations,
    Provider,
    bring_to_rest,
    errors_logged,
    kill_one,
    miscounted,
    transactions_while_idle,
    wrong_histories,
)

QUICK_SECONDS, LONG_SECONDS = 10, 60
LONGEST_SECONDS = 150
"""On a machine that is so busy that little succeeds."""
KILL_EVERY_SECONDS = 4
NEEDED = {"create", "arguments", "resume", "fork", "intervene", "experiment", "experiment start"}
SETTINGS = {"claim_seconds": 6, "failpoints": LOSSY}


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("seed", "seconds"),
    [(1, QUICK_SECONDS), *(pytest.param(seed, LONG_SECONDS, marks=pytest.mark.long) for seed in (2, 3, 4))],
)
def test_everything_comes_to_rest_whatever_people_do_meanwhile(
    make_place: Callable[[], Place], tmp_path: Path, seed: int, seconds: int
) -> None:
    provider = Provider(seed)
    with model_place(make_place, tmp_path, workers=0, **SETTINGS) as at:
        at.models.behave, at.models.count, at.models.rule = provider.behave, provider.count, provider.rule
        workers = [at.place.start_worker(**SETTINGS) for _ in range(2)]
        operations = Operations(at, seed)
        ending = threading.Event()
        threads = [threading.Thread(target=operations.run, args=(ending, n), daemon=True) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        began, chance = time.monotonic(), random.Random(seed)
        # The run would prove nothing if most of what people tried was refused.
        while (lasted := time.monotonic() - began) < seconds or (lasted < LONGEST_SECONDS and missing(operations)):
            time.sleep(min(KILL_EVERY_SECONDS, max(1.0, seconds - lasted)))
            kill_one(at, operations, workers, chance.randrange(2), **SETTINGS)
        ending.set()
        for thread in threads:
            thread.join(60)
        provider.is_calm = True
        assert operations.broken == [], operations.done
        bring_to_rest(at, operations)
        assert transactions_while_idle(at) < MAX_IDLE_TRANSACTIONS
        assert wrong_histories(at) == []
        assert miscounted(at, operations, provider) == []
        assert errors_logged(at) == []
        assert missing(operations) == set()
        assert provider.billed


def missing(operations: Operations) -> set[str]:
    """Kinds of operations of which none has succeeded."""
    done = list(operations.done)
    return NEEDED - {kind.rpartition(" ")[0] for kind in done if kind.rpartition(" ")[2].startswith("2")}
