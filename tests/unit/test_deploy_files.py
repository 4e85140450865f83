"""deploy/systemd and deploy/kubernetes: what must be in them, and where the tools are there, what these say."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from containers import REPOSITORY, SERVICES, last, seconds

from app.http.server import configuration
from app.settings import Settings
from worker.process import FINISH_SECONDS

UNITS = sorted((REPOSITORY / "deploy" / "systemd").iterdir())
MANIFESTS = REPOSITORY / "deploy" / "kubernetes"
SETTINGS = {f"DEBATE_{name.upper()}" for name in Settings.model_fields}
PAGE = (REPOSITORY / "docs" / "deploy.md").read_text()
SYSTEMD = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not installed: apt-get install systemd")


def documents() -> dict[tuple[str, str], dict[str, Any]]:
    """By kind and name, in the files that kustomization.yaml names."""
    names = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["resources"]
    assert {*names, "kustomization.yaml"} == {file.name for file in MANIFESTS.iterdir()}
    found = [document for name in names for document in yaml.safe_load_all((MANIFESTS / name).read_text())]
    return {(document["kind"], document["metadata"]["name"]): document for document in found}


ALL = documents()
PODS = {name: document["spec"]["template"] for (kind, name), document in ALL.items() if kind in ("Deployment", "Job")}


def options(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def test_the_units_are_the_documented_ones_and_hardened_alike() -> None:
    assert [unit.name for unit in UNITS] == ["debate-api.service", "debate-migrate.service", "debate-worker@.service"]
    hardening = [unit.read_text().split("DynamicUser=yes\n")[1].split("[Install]")[0] for unit in UNITS]
    assert hardening[0].count("=") >= 20
    assert len({text.strip() for text in hardening}) == 1
    for unit in UNITS:
        [command] = options(unit)["ExecStart"]
        assert command.removeprefix("/opt/debate/bin/debate ").split() in (
            [*SERVICES["migrate"]["command"]],
            ["api"],
            ["worker"],
        )


@pytest.mark.parametrize("name", ["api", "worker"])
def test_a_part_is_given_the_time_to_end_that_its_container_has(name: str) -> None:
    [unit] = [unit for unit in UNITS if unit.name.startswith(f"debate-{name}")]
    assert options(unit)["TimeoutStopSec"] == [str(seconds(SERVICES[name]["stop_grace_period"]))]
    assert options(unit)["Restart"] == ["always"]
    grace = PODS[f"debate-{name}"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= {"api": 5 + configuration.graceful_timeout, "worker": FINISH_SECONDS}[name] + 15


@needs_systemd
def test_systemd_takes_the_units_and_finds_them_hardened(tmp_path: Path) -> None:
    for unit in UNITS:
        # The program is not installed here, and verify asks for it.
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/debate/bin/debate", "/bin/true"))
    files = [str(tmp_path / unit.name) for unit in UNITS]
    assert systemd("verify", "--man=no", *files) == ""
    for file in files:
        assert systemd("security", "--offline=yes", "--threshold=25", "--no-pager", file) == "", "of 100; 20 is 2.0"


def systemd(*arguments: str) -> str:
    """What it complains of."""
    done = subprocess.run([str(SYSTEMD), *arguments], capture_output=True, text=True, check=False)
    is_well = done.returncode == 0 and (arguments[0] == "security" or not done.stderr)
    return "" if is_well else done.stdout + done.stderr


def test_every_part_has_its_manifest() -> None:
    assert sorted(ALL) == [
        ("ConfigMap", "debate"),
        ("Deployment", "debate-api"),
        ("Deployment", "debate-worker"),
        ("HorizontalPodAutoscaler", "debate-worker"),
        ("Job", "debate-migrate"),
        ("PodDisruptionBudget", "debate-api"),
        ("PodDisruptionBudget", "debate-worker"),
        ("Service", "debate-api"),
    ]
    assert set(ALL["ConfigMap", "debate"]["data"]) <= SETTINGS


@pytest.mark.parametrize("name", PODS)
def test_a_pod_runs_our_image_as_the_compose_file_does(name: str) -> None:
    pod = PODS[name]["spec"]
    [container] = pod["containers"]
    assert container["args"] == SERVICES[name.removeprefix("debate-")]["command"]
    assert container["image"] == "debate-runner"
    inside = container["securityContext"]
    assert (inside["readOnlyRootFilesystem"], inside["allowPrivilegeEscalation"]) == (True, False)
    assert inside["capabilities"] == {"drop": ["ALL"]}
    user = pod["securityContext"]
    assert f"{user['runAsUser']}:{user['runAsGroup']}" == last("USER")
    assert {setting["name"] for setting in container.get("env", [])} <= SETTINGS
    assert pod["automountServiceAccountToken"] is False


def test_selectors_find_their_pods_and_probes_ask_what_balancers_ask() -> None:
    for (kind, name), document in ALL.items():
        selector = document["spec"].get("selector") if "spec" in document else None
        if selector:
            wanted = selector.get("matchLabels", selector)
            assert wanted.items() <= PODS[name]["metadata"]["labels"].items(), (kind, name)
    [api] = PODS["debate-api"]["spec"]["containers"]
    assert {api[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")} == {
        "/health"
    }
    [worker] = PODS["debate-worker"]["spec"]["containers"]
    assert worker["readinessProbe"]["exec"]["command"] == SERVICES["worker"]["healthcheck"]["test"][1:]
    assert "livenessProbe" not in worker, "it would restart every worker when the database is away"


def test_the_autoscalers_metric_is_made_by_the_documented_rule() -> None:
    scaler = ALL["HorizontalPodAutoscaler", "debate-worker"]["spec"]
    [metric] = scaler["metrics"]
    name = metric["external"]["metric"]["name"]
    assert f"as: {name}" in PAGE
    assert "debate_queue_delay_seconds_bucket" in PAGE
    assert scaler["scaleTargetRef"]["name"] == "debate-worker"
    assert "replicas" not in ALL["Deployment", "debate-worker"]["spec"], "it would be set back with every release"


def test_kubernetes_schemas_accept_the_manifests() -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate: its schemas")
    for document in ALL.values():
        schemas.validate(document, "1.33", strict=True)
