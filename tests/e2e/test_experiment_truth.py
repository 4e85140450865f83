"""One experiment through the whole system, workers killed in between: the results of its data computed apart."""

import json
import os
import signal

import pytest
from experiment_runs import assert_whole, exported, has_judged, wait_status
from experiment_runs import results as results_of
from harness import Place, wait_until
from test_experiment_workers import start

from app.statistics.exported import judgment_of
from app.statistics.results import results

CONTESTANTS = [{"name": f"c{n}", "player": "scripted", "skill": 1 - 0.4 * n} for n in range(6)]
JUDGES = [
    {"name": "fair", "player": "scripted", "orders": "both"},
    {"name": "biased", "player": "scripted", "orders": "both", "position_bias": 0.1, "noise": 0.3},
]
SEED = 11
COMPUTED_APART = ("ratings", "matrix", "sides", "arms", "differences", "judges", "agreement")


@pytest.mark.long
def test_three_hundred_debates_give_exactly_the_results_of_their_data_computed_offline(place: Place) -> None:
    api = place.start_api()
    workers = [place.start_worker() for _ in range(2)]
    at = start(api, "truth", 10, contestants=CONTESTANTS, judges=JUDGES, seed=SEED, concurrency=40)
    for share in (100, 500, 900):
        wait_until(lambda least=share: has_judged(place, least), 180, f"{share} judgments are made")
        victim = workers.pop(0)
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait(60)
        workers.append(place.start_worker())
    wait_status(api, at, "completed", 300)
    assert_whole(place, 300, 1200)

    spoken: dict[tuple[str, str], int] = {}
    for turn in exported(api, at, "turns"):
        if turn["type"] == "CLAIM":
            key = (turn["debate_id"], turn["role"])
            spoken[key] = spoken.get(key, 0) + len(turn["content"])
    rows = sorted(exported(api, at, "judgments"), key=lambda row: row["judgment_id"])
    given = [
        judgment_of(row)._replace(
            proposer_player="scripted",
            opponent_player="scripted",
            proposer_length=spoken[row["debate_id"], "proposer"],
            opponent_length=spoken[row["debate_id"], "opponent"],
        )
        for row in rows
    ]
    offline = results(given, seed=SEED)
    system = results_of(api, at)
    assert len(given) == 1200
    for name in COMPUTED_APART:
        assert json.loads(json.dumps(offline[name])) == system[name], name
    assert system["missing"] == {kind: {"planned": 0, "running": 0, "failed": 0} for kind in ("matches", "judgments")}
