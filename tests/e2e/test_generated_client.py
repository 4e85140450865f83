"""A client that `openapi-python-client` generates from the OpenAPI document, without a warning, holds a debate, lists
debates and reads results.

The generator is in an environment of its own (requirements-generated.lock): it and we need different versions of typer.
"""

import os
import subprocess
import venv
from pathlib import Path

import pytest
from agents import TOKEN, new_agent, operator
from cli_home import run_program, url_of
from harness import REPOSITORY, Place, assert_whole, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
PROGRAM = """
import sys
from uuid import UUID, uuid4

from generated import AuthenticatedClient
from generated.api.debates import debates_create, debates_get, debates_list_all
from generated.api.experiments import experiment_results_results, experiments_draft
from generated.api.realtime import realtime_wait
from generated.api.seats import seats_take
from generated.api.submissions import submissions_argue
from generated.models import (
    ArgumentBody, ArmRulesShape, ContestantShape, CreateDebateBody, ExperimentAnswer, ListAnswer, PollNew,
    RealtimeWaitRole, ResultsAnswer, SeatsTakeRole, SpecBody, SpecShapeArms, StoredAnswer
)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True, timeout=90)
new = CreateDebateBody.from_dict(
    {
        "title": "Cars in cities",
        "debate_type": "general_debate",
        "motion_content": "Cities should ban private cars",
        "client_request_id": str(uuid4()),
        "format": "rounds",
        "limits": {"max_rounds": 2},
        "seats": {"opponent": {"player": "external"}},
    }
)
stored = debates_create.sync(client=client, body=new)
assert isinstance(stored, StoredAnswer), stored
debate = UUID(str(stored.data.debate.id))
taken = seats_take.sync(debate, SeatsTakeRole.OPPONENT, client=client)
assert taken.data.debate.id == stored.data.debate.id, taken
seen = None
while True:
    wait = {"role": RealtimeWaitRole.OPPONENT, "argument_id": seen, "timeout_ms": 20_000}
    news = realtime_wait.sync(debate, client=client, **wait).data
    if not isinstance(news, PollNew):
        continue
    seen = UUID(str(news.argument.id))
    if news.action.value == "debate_closed":
        break
    if news.action.value in ("respond", "align_to_ruling"):
        said = {"role": "opponent", "target_id": str(seen), "content": "No.", "client_request_id": str(uuid4())}
        answer = submissions_argue.sync(debate, client=client, body=ArgumentBody.from_dict(said))
        assert isinstance(answer, StoredAnswer), answer
ended = debates_get.sync(debate, client=client).data
assert ended.debate.seats.opponent.player == "external", ended.debate.seats
listed = debates_list_all.sync(client=client)
assert isinstance(listed, ListAnswer), listed
assert debate in [UUID(str(one.id)) for one in listed.data.debates]
arms = SpecShapeArms.from_dict({"talk": {"format": "rounds"}, "short": {"format": "rounds", "rounds": 1}})
contestants = [ContestantShape(player="scripted", name=name) for name in ("a", "b")]
drafted = experiments_draft.sync(client=client, body=SpecBody(name="generated", contestants=contestants, arms=arms))
assert isinstance(drafted, ExperimentAnswer), drafted
assert drafted.data.experiment.spec.arms["short"].rounds == 1, drafted
results = experiment_results_results.sync(UUID(sys.argv[3]), client=client)
assert isinstance(results, ResultsAnswer), results
[judge] = results.data.results.costs.judges
assert (judge.judge, judge.input_tokens + 1, judge.cost_usd) == ("j", 1, 0), judge
assert [arm.arm for arm in results.data.results.arms] == ["x", "y"]
print(ended.debate.id, ended.debate.status.value, len(ended.arguments))
"""


EXPERIMENT = {
    "name": "judged",
    "contestants": [{"name": name, "player": "scripted"} for name in ("a", "b")],
    "judges": [{"name": "j", "player": "scripted"}],
    "motions": [{"id": "m1", "motion": "Ban cars."}],
    "arms": {"x": {"format": "rounds", "rounds": 1}, "y": {"format": "final_ruling", "rounds": 1}},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the generator, in the versions of its lock."""
    made = tmp_path_factory.mktemp("generator") / "venv"
    venv.create(made, symlinks=True, with_pip=True)
    install = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    lock = ["--require-hashes", "--only-binary", ":all:", "--requirement", REPOSITORY / "requirements-generated.lock"]
    ran = subprocess.run([*install, *lock], capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    return made


def test_it_is_generated_without_a_warning_holds_a_debate_lists_and_reads_results(
    environment: Path, place: Place, tmp_path: Path
) -> None:
    api = place.start_api(auth_token=TOKEN)
    place.start_worker()
    (tmp_path / "openapi.json").write_bytes(api.http.get("/openapi.json").content)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # It formats what it has generated with the ruff that it finds.
    path = {**inherited, "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> "subprocess.CompletedProcess[str]":
        return run_program(environment / "bin" / command[0], *command[1:], cwd=tmp_path, env=path, seconds=200)

    made = run(
        *("openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "generated"),
        *("--meta", "none", "--fail-on-warning"),
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "arning" not in made.stdout + made.stderr
    (tmp_path / "agent.py").write_text(PROGRAM)
    agent = new_agent(operator(api))
    experiment_id = operator(api).post("/experiments", EXPERIMENT).json()["data"]["experiment"]["id"]
    operator(api).post(f"/experiments/{experiment_id}/start")
    ended = "SELECT 1 FROM experiments WHERE status = 'completed'"
    wait_until(lambda: bool(place.sql(ended)), 60, "the experiment has ended")
    ran = run("python", "agent.py", url_of(api), str(agent.token), experiment_id)
    assert ran.returncode == 0, ran.stderr
    debate_id, status, arguments = ran.stdout.split()
    assert (status, int(arguments)) == ("completed", 6)
    assert_whole(operator(api).get(f"/debates/{debate_id}").json()["data"], rounds=2)
