"""Workers broken on purpose at each failpoint: what is left behind, and that the debate goes on by itself."""

import signal

import pytest
from harness import Api, Place, StartWorker, assert_all_is_well

from app.observe import failpoints

IN_WORKERS = {
    # What is stored when a worker breaks there for the first time: turns, the motion included.
    "claim.before_commit": {1},
    "claim.after_commit": {1},
    "think.before": {1},
    "think.after": {1},
    "turn.before_commit": {1},
    "turn.after_commit": {2},
    # Another thread publishes while the debate goes on.
    "publish.before": {2, 3, 4},
    "publish.after": {2, 3, 4},
}
SERVERS = ("publish.",)
"""Where Redis is spoken to."""
IN_THE_API = ("create", "submit", "control")
IN_EXPERIMENTS = (
    "judgment.after_claim",
    "judgment.before_commit",
    "judgment.after_commit",
    "feed.before_commit",
    "feed.after_commit",
    "plan.before_commit",
    "plan.after_commit",
)
"""test_experiment_workers.py and test_experiment_planning.py break there."""
CARRIED = ("publish.before", "publish.after", "enqueue.before", "enqueue.after")


def one_round(api: Api) -> str:
    return str(api.create(limits={"max_rounds": 1})["id"])


def test_the_table_above_knows_every_failpoint() -> None:
    in_the_api = {f"{name}.{when}_commit" for name in IN_THE_API for when in ("before", "after")}
    assert set(IN_WORKERS) | in_the_api | set(CARRIED) | set(IN_EXPERIMENTS) == set(failpoints.POINTS)


@pytest.mark.parametrize("point", IN_WORKERS)
def test_a_worker_that_dies_there_leaves_a_debate_that_goes_on(
    api: Api, module_place: Place, start_worker: StartWorker, point: str
) -> None:
    victim = start_worker(f"{point}=crash@1")
    debate_id = one_round(api)
    assert victim.wait(60) == -signal.SIGKILL
    assert api.debate(debate_id)["argument_count"] in IN_WORKERS[point]
    start_worker("")
    api.wait_closed(debate_id, 40)
    assert_all_is_well(module_place)


@pytest.mark.parametrize("point", IN_WORKERS)
def test_a_worker_that_fails_there_goes_on_by_itself(
    api: Api, module_place: Place, start_worker: StartWorker, point: str
) -> None:
    # Where a server is spoken to, as if it had gone away; elsewhere something that nobody expects.
    action = "lost" if point.startswith(SERVERS) or "commit" in point else "raise"
    worker = start_worker(f"{point}={action}@1")
    # The second one shows that it still works.
    for _ in range(2):
        api.wait_closed(one_round(api), 40)
    assert worker.poll() is None
    assert_all_is_well(module_place)
