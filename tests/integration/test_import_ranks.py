"""Judgments of a published data set's shape, imported with the command line, rank as another library ranks them."""

import csv
import json
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.statistics import ratings

pytestmark = pytest.mark.long
CONTESTANTS, MOTIONS = 12, 20
JUDGES = ("openai:gpt-5", "person:ana", "local-judge")
NAMES = [f"{'openai' if n % 2 else 'anthropic'}:model-{n}" for n in range(CONTESTANTS)]


@pytest.fixture
def judgments(tmp_path):
    """Side-swapped debates, three judges, both orders; half of a motion's debates are missing, as in a real one."""
    rng = np.random.default_rng(5)
    strength = np.linspace(1.2, -1.2, CONTESTANTS)
    debates, rows = [], []
    for motion in range(MOTIONS):
        favours = rng.normal()
        for pair in combinations(range(CONTESTANTS), 2):
            if rng.random() < 0.5:
                continue
            for i, j in (pair, pair[::-1]):
                chance = 1 / (1 + np.exp(-(strength[i] - strength[j] + 0.5 * favours)))
                won = rng.random((len(JUDGES), 2)) < chance
                debates.append((i, j, motion, won.mean()))
                rows += [
                    (f"{motion}-{i}-{j}", f"m{motion}", NAMES[i], NAMES[j], judge, judge, order, _side(is_won))
                    for judge, orders in zip(JUDGES, won, strict=True)
                    for order, is_won in zip(("as_spoken", "swapped"), orders, strict=True)
                ]
    path = tmp_path / "judgments.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["debate_id", "motion_id", "proposer", "opponent", "judge", "player", "order", "winner"])
        writer.writerows(rows)
    columns = [np.array(column) for column in zip(*debates, strict=True)]
    return path, ratings.Debates(*columns)


def _side(is_won):
    return "proposer" if is_won else "opponent"


def test_the_ranks_are_those_of_two_independent_libraries(api, judgments):
    from scripts.truth import oracles  # slow to import, as scipy is

    path, debates = judgments
    environment = {"DEBATE_SERVER_URL": str(api.http.base_url)}

    def said(*arguments):
        ended = CliRunner().invoke(app, ["experiment", *arguments, "--json"], env=environment)
        assert ended.exit_code == 0, (ended.output, ended.exception)
        return json.loads(ended.stdout)

    made = said("import", str(path), "--name", "published")
    found = said("results", made["id"])
    ours = {row["contestant"]: row["rating"] for row in found["ratings"]}
    assert len(ours) == CONTESTANTS
    for theirs in (oracles.by_evalica(debates, CONTESTANTS, 6), oracles.by_choix(debates, CONTESTANTS, 6)):
        ranks = [np.argsort(np.argsort(each)) for each in ([ours[name] for name in NAMES], theirs)]
        assert np.corrcoef(*ranks)[0, 1] >= 0.98
    # The same from the file alone; and contestants that are named as models tell whose provider is whose.
    offline = said("results", str(path))
    # But for the last digits: rows are summed in another order.
    assert [pytest.approx(row) for row in offline["ratings"]] == found["ratings"]
    judge = {row["judge"]: row for row in offline["judges"]}["openai:gpt-5"]
    imported = {row["judge"]: row for row in found["judges"]}["openai:gpt-5"]
    assert imported["own_provider"] == pytest.approx(judge["own_provider"])
    assert judge["own_provider"]["n"] > 0
    assert judge["length"] is None
    assert "lengths" in offline["why"]["judges.openai:gpt-5.length"]
