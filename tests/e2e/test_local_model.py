"""A whole debate on the local model: real, small, and often wrong, which tries the failure paths like nothing else."""

import json
import os

import pytest
from cli_home import new_home
from model_server import ModelServer, ruling

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("TEST_LOCAL_MODEL"),
        reason="set TEST_LOCAL_MODEL=1 to debate on the local model (installs about 130 MB, takes a minute or more)",
    ),
    pytest.mark.long,
    pytest.mark.timeout(600),
]


@pytest.mark.parametrize("rounds", ["1", "2"])
def test_a_debate_on_the_local_model_ends_with_a_verdict_or_an_honest_failure(rounds: str) -> None:
    with new_home() as home:
        motion = "Cities should ban private cars from their centres"
        seen = home.debate("run", motion, "--player", "local", "--rounds", rounds, "--json", seconds=500)
        answer = json.loads(seen.stdout)
        # The model's server too: it was told about this home, as everything else.
        home.wait_until_nothing_runs()
    debate, spoken = answer["debate"], answer["arguments"][1:]
    if debate["status"] == "completed":
        assert seen.process.returncode == 0
        assert debate["verdict"]["winner"] in ("proposer", "opponent", "tie")
    else:
        assert (seen.process.returncode, debate["status"], debate["attempts"]) == (1, "failed", 5)
        assert debate["last_error"].startswith("local: the answer ")
    assert all(turn["player"] == "local" and turn["content"].strip() for turn in spoken)
    assert debate["usage"]["output_tokens"] > 0
    assert debate["usage"]["cost_usd"] == 0


def test_models_of_two_endpoints_and_the_local_one_debate_each_other() -> None:
    with ModelServer() as lab, ModelServer() as cellar:
        cellar.rule = lambda _: ruling("opponent")
        with new_home(DEBATE_ENDPOINTS=f"lab={lab.url}/v1,cellar={cellar.url}/v1") as home:
            players = ("--proposer", "lab:one", "--opponent", "local", "--arbitrator", "cellar:two")
            seen = home.debate("run", "Cities should ban cars", *players, "--rounds", "1", "--json", seconds=500)
            assert seen.process.returncode == 0, seen.stderr
            answer = json.loads(seen.stdout)
        assert [turn["player"] for turn in answer["arguments"][1:]] == ["lab:one", "local", "cellar:two"]
        assert answer["debate"]["verdict"]["winner"] == "opponent"
        assert (len(lab.calls), len(cellar.calls)) == (1, 1)
