"""A workflow a debate, a step a turn, on DBOS. Every step is committed in Postgres before the next begins.

What was chosen, and why:

- Workflows that are ordinary functions, called directly in a pool of threads: DBOS hands each statement of an `async`
  workflow to a thread, so coroutines cost more, and its queue writes and polls on top of the same steps.
- A connection for each thread, so that no step waits for one, and no `pool_pre_ping`, a trip to Postgres before each
  statement that DBOS makes by default.
- How many threads is tried out: the best counts.
- No tracing, and only warnings logged.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig, SetWorkflowID

from scripts.benchmarks.peers import side

work = side.work()
config: DBOSConfig = {
    "name": "bench",
    "system_database_url": work.database_url,
    "sys_db_pool_size": work.at_once + 4,  # a few for DBOS's own threads
    "db_engine_kwargs": {"pool_pre_ping": False},
    "log_level": "WARNING",
    # The two processes are two executors of one application.
    "executor_id": hashlib.sha256(work.debates[0].encode()).hexdigest()[:8],
    "application_version": "1",
}
DBOS(config=config)


@DBOS.step()
def turn(number: int) -> str:
    return f"{number}: {work.content}"


@DBOS.workflow()
def debate() -> int:
    return sum(bool(turn(number)) for number in range(work.turns))


def hold_one(name: str) -> None:
    with SetWorkflowID(name):
        assert debate() == work.turns


DBOS.launch()
with ThreadPoolExecutor(work.at_once) as pool:
    side.run(lambda debates: list(pool.map(hold_one, debates)) and None, work.debates)
DBOS.destroy()
