"""A workflow a debate, a step a turn, on DBOS. Every step is committed in Postgres before the next begins.

What was chosen, and why:

- Workflows are called directly, as many concurrently as the process is given: as ordinary functions in threads, or with
  the argument `coroutines` as `async` ones on one event loop. The second was faster when it was tried, on a busy
  machine; both are measured. DBOS's queue was slower than the second.
- A connection for each workflow in flight, so that no step waits for one, and no `pool_pre_ping`, a trip to Postgres
  before each statement that DBOS makes by default.
- The benchmark tries several numbers of concurrent workflows: the best counts.
- No tracing, and only warnings logged.
"""

import asyncio
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig, SetWorkflowID

from scripts.benchmarks.peers import side

work = side.work()
config: DBOSConfig = {
    "name": "bench",
    "system_database_url": work.database_url,
    "sys_db_pool_size": work.at_once + 4,  # a few for DBOS's own threads
    "max_executor_threads": work.at_once + 4,
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


@DBOS.step()
async def turn_of_coroutine(number: int) -> str:
    return f"{number}: {work.content}"


@DBOS.workflow()
async def debate_of_coroutine() -> int:
    return sum([bool(await turn_of_coroutine(number)) for number in range(work.turns)])


def hold_one(name: str) -> None:
    with SetWorkflowID(name):
        assert debate() == work.turns


async def hold_in_coroutines(debates: list[str]) -> None:
    free = asyncio.Semaphore(work.at_once)

    async def hold_one_more(name: str) -> None:
        async with free:
            with SetWorkflowID(name):
                assert await debate_of_coroutine() == work.turns

    await asyncio.gather(*map(hold_one_more, debates))


DBOS.launch()
if sys.argv[1:] == ["coroutines"]:
    loop = asyncio.new_event_loop()
    side.run(lambda debates: loop.run_until_complete(hold_in_coroutines(debates)), work.debates)
else:
    with ThreadPoolExecutor(work.at_once) as pool:

        def hold(debates: list[str]) -> None:
            list(pool.map(hold_one, debates))

        side.run(hold, work.debates)
DBOS.destroy()
