"""The files for containers say what they must, by a schema, a linter, and our own rules."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from containers import (
    COMPOSE,
    DOCKERFILE,
    OURS,
    REPOSITORY,
    SERVICES,
    base,
    copied,
    health_check,
    instructions,
    last,
    seconds,
)

from app import __version__
from app.http.application import body_limit
from app.http.rules import LARGE_BODY, LARGEST_BODY
from app.http.server import configuration
from app.settings import Settings
from worker.process import FINISH_SECONDS

PROGRAMS = Path(sys.executable).parent
EXAMPLE = (REPOSITORY / ".env.example").read_text()
SETTINGS = {f"DEBATE_{name.upper()}" for name in Settings.model_fields}
INTERPOLATED = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text()))


def complaints(*command: str | Path) -> str:
    done = subprocess.run([PROGRAMS / command[0], *command[1:]], cwd=REPOSITORY, capture_output=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).decode()


def test_the_compose_file_follows_the_compose_specification() -> None:
    assert complaints("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE) == ""


def test_the_linter_has_nothing_to_say_about_the_dockerfile() -> None:
    assert complaints("hadolint", DOCKERFILE) == ""


def test_the_services_are_the_documented_ones() -> None:
    with_profile = [name for name, service in SERVICES.items() if "profiles" in service]
    assert with_profile == ["prometheus", "alertmanager", "grafana"]
    assert set(SERVICES) - set(with_profile) == {"postgres", "redis", "migrate", "proxy", "api", "worker"}
    assert OURS == ["migrate", "api", "worker"]


def test_the_image_is_built_once_and_used_by_three_services() -> None:
    assert [name for name, service in SERVICES.items() if "build" in service] == ["migrate"]
    assert {SERVICES[name]["image"] for name in OURS} == {f"debate-runner:${{DEBATE_IMAGE_TAG:-{__version__}}}"}
    assert {SERVICES[name]["pull_policy"] for name in OURS} == {"never"}, "nobody publishes it"


def test_how_many_there_are_is_kept_by_every_later_command() -> None:
    replicas = {name: service["deploy"].get("replicas") for name, service in SERVICES.items()}
    given = {name: number for name, number in replicas.items() if number is not None}
    assert given == {"api": "${DEBATE_APIS:-1}", "worker": "${DEBATE_WORKERS:-1}"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_limited_restarted_and_checked(name: str) -> None:
    service = SERVICES[name]
    limits = service["deploy"]["resources"]["limits"]
    assert set(limits) == {"cpus", "memory", "pids"}
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    assert ("healthcheck" in service) == (name != "migrate")
    assert service["logging"]["options"]["max-size"]


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_database_and_the_queue_are_reached_by_our_programs_only() -> None:
    document = yaml.safe_load(COMPOSE.read_text())
    assert document["networks"]["data"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "data" in service["networks"]} == {*OURS, "postgres", "redis"}
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["data"]


def test_no_secret_is_in_the_files() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|KEY|SECRET", name):
                assert re.fullmatch(r"|\$\{[A-Z_]+:\?[^}]+\}|/run/secrets/[a-z_]+", value), name
    for secret in yaml.safe_load(COMPOSE.read_text())["secrets"].values():
        assert list(secret) == ["environment"]
    given = re.findall(r"^#?([A-Z_]*(?:PASSWORD|TOKEN|KEY)[A-Z_]*)=(.*)$", EXAMPLE, re.MULTILINE)
    assert len(given) == 4
    assert all(value == "" for _, value in given)


def test_what_the_compose_file_asks_for_is_in_the_example_and_nothing_else() -> None:
    document = yaml.safe_load(COMPOSE.read_text())
    asked = INTERPOLATED | {secret["environment"] for secret in document["secrets"].values()}
    named = set(re.findall(r"^#?([A-Z_]+)=", EXAMPLE, re.MULTILINE))
    assert asked - named == set()
    assert named - asked - SETTINGS == set()
    required = set(re.findall(r"\$\{([A-Z_]+):\?", COMPOSE.read_text()))
    assert set(re.findall(r"^([A-Z_]+)=", EXAMPLE, re.MULTILINE)) == required


def test_what_our_services_are_told_are_settings() -> None:
    told = {name for name, value in SERVICES["worker"]["environment"].items() if name.startswith("DEBATE_") and value}
    assert told <= SETTINGS


@pytest.mark.parametrize("name", OURS)
def test_what_env_says_to_compose_alone_reaches_no_container(name: str) -> None:
    """All of .env would: a change of the number of workers would replace every container, and the API would know the
    password of Grafana."""
    secrets = {secret["environment"] for secret in yaml.safe_load(COMPOSE.read_text())["secrets"].values()}
    emptied = {setting for setting, value in SERVICES[name]["environment"].items() if value == ""}
    assert emptied == (INTERPOLATED | secrets) - SETTINGS


@pytest.mark.parametrize("name", OURS)
def test_our_programs_can_write_nothing_and_gain_nothing(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [mount.split(":")[0] for mount in service["tmpfs"]] == ["/tmp"]  # noqa: S108 (a place in the container)
    assert "volumes" not in service
    assert "user" not in service, "the image's own"


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last("USER"))
    after_user = [name for name, _ in instructions()][[name for name, _ in instructions()].index("USER") :]
    assert "RUN" not in after_user


def test_the_image_is_pinned_by_the_lock_files_and_brings_no_build_along() -> None:
    bases = [text.split()[0] for name, text in instructions() if name == "FROM"]
    assert bases == ["${PYTHON}", "${PYTHON}"]
    assert re.fullmatch(r"python:3\.11-[a-z-]+", base())
    commands = [command for name, text in instructions() if name == "RUN" for command in text.split("&&")]
    fetching = [command for command in commands if re.search(r"pip.* (install|wheel) ", command)]
    assert len(fetching) == 5
    assert all("--require-hashes" in command or "--no-deps --no-index" in command for command in fetching)


def test_the_image_has_the_bytecode_of_the_standard_library() -> None:
    """Its root file system is read-only: without, each start and each health check would compile it anew."""
    final = [text for name, text in instructions()[2:] if name in ("RUN", "COPY")][-2:]
    assert final[0].startswith("python -m compileall")
    assert final[1] == "--from=build /opt/debate /opt/debate"


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    allowed = re.findall(r"^!(.+)$", (REPOSITORY / ".dockerignore").read_text(), re.MULTILINE)
    assert (REPOSITORY / ".dockerignore").read_text().splitlines()[1] == "*"
    assert sorted(copied()) == sorted(allowed)
    assert all((REPOSITORY / source).exists() for source in copied())


def test_secrets_of_an_installation_are_ignored_by_git_and_by_the_image() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text().splitlines()
    for name in (".env", "models.env"):
        assert name in ignored
        assert not any(fnmatch.fnmatch(name, pattern) for pattern in copied())


@pytest.mark.parametrize("name", ["api", "worker"])
def test_what_can_be_scaled_has_no_name_and_no_port_of_its_own(name: str) -> None:
    assert "container_name" not in SERVICES[name]
    assert "hostname" not in SERVICES[name]
    ports = SERVICES[name].get("ports", [])
    assert ports == [], "the proxy has the one door"


def test_a_container_is_given_longer_to_end_than_its_program_takes() -> None:
    assert seconds(SERVICES["api"]["stop_grace_period"]) >= configuration.graceful_timeout + 5
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= FINISH_SECONDS + 15


NGINX = (REPOSITORY / "deploy" / "nginx" / "nginx.conf").read_text()


def test_the_proxy_finds_its_files_its_apis_and_its_port() -> None:
    proxy = SERVICES["proxy"]
    assert proxy["volumes"] == ["./deploy/nginx:/etc/debate:ro"]
    assert proxy["command"][-1] == "/etc/debate/nginx.conf"
    assert proxy["ports"] == ["127.0.0.1:${DEBATE_PROXY_PORT:-3456}:8080"]
    files = REPOSITORY / "deploy" / "nginx"
    assert "listen 8080;" in (files / "listen.conf").read_text()
    assert f"server api:{last('EXPOSE')} resolve" in (files / "upstream.conf").read_text()
    assert all((files / name).exists() for name in re.findall(r"include (.+);", NGINX))
    [health] = re.findall(r"listen 127.0.0.1:(\d+);", NGINX)
    assert health_check("proxy")[-1] == f"http://127.0.0.1:{health}/"
    assert SERVICES["api"]["environment"]["DEBATE_TRUSTED_PROXIES"] == "${DEBATE_TRUSTED_PROXIES:-1}"


def test_the_proxy_can_write_and_gain_nothing() -> None:
    proxy = SERVICES["proxy"]
    assert (proxy["read_only"], proxy["cap_drop"], proxy["user"]) == (True, ["ALL"], "101:101")
    written = re.findall(r"(?:_temp_path|pid) (/.+);", NGINX)
    assert len(written) == 6
    assert all(path.startswith("/tmp/") for path in written)  # noqa: S108 (a place in the container)


def in_seconds(directive: str, text: str = NGINX) -> int:
    [found] = set(re.findall(rf"^ *{directive} (\d+)s;", text, re.MULTILINE))
    return int(found)


def test_the_proxys_limits_fit_those_of_the_api() -> None:
    defaults = Settings.model_fields
    assert in_seconds("proxy_read_timeout") > defaults["poll_timeout_ms"].default / 1000 + 10
    upstream = (REPOSITORY / "deploy" / "nginx" / "upstream.conf").read_text()
    assert in_seconds("keepalive_timeout", upstream) < defaults["http_timeout_ms"].default / 1000
    megabytes, of_an_import = re.findall(r"^ *client_max_body_size (\d+)m;", NGINX, re.MULTILINE)
    most, largest_import = LARGE_BODY, LARGEST_BODY
    assert most < int(megabytes) << 20
    assert largest_import < int(of_an_import) << 20
    assert "location = /experiments/import {" in NGINX
    largest = body_limit(defaults["max_content_length"].default) + 6 * defaults["max_document_length"].default
    assert largest < int(megabytes) << 20, "or a body that the API takes is refused by the proxy"
    assert f"{largest >> 10} KB unless" in NGINX


def test_prometheus_and_grafana_find_their_files() -> None:
    mounted = {name: SERVICES[name]["volumes"][0] for name in ("prometheus", "grafana")}
    assert mounted == {
        "prometheus": "./monitoring:/etc/prometheus:ro",
        "grafana": "./monitoring/grafana:/etc/debate:ro",
    }
    monitoring = REPOSITORY / "monitoring"
    scraping = yaml.safe_load((monitoring / "prometheus.yml").read_text())
    assert scraping["rule_files"] == ["/etc/prometheus/alerts.yml"]
    [asked] = scraping["alerting"]["alertmanagers"]
    assert asked["static_configs"] == [{"targets": ["alertmanager:9093"]}]
    alertmanager = SERVICES["alertmanager"]
    assert alertmanager["volumes"][0] == "./monitoring/alertmanager.yml:/etc/alertmanager/alertmanager.yml:ro"
    sending = yaml.safe_load((monitoring / "alertmanager.yml").read_text())
    [receiver] = sending["receivers"]
    assert sending["route"]["receiver"] == receiver["name"]
    assert receiver["webhook_configs"][0]["url_file"] == f"/run/secrets/{alertmanager['secrets'][0]}"
    alerts = {rule["alert"] for rule in yaml.safe_load((monitoring / "alerts.yml").read_text())["groups"][0]["rules"]}
    for rule in sending["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            assert matcher.removeprefix("alertname = ") in alerts
    found = {job["job_name"]: job.get("dns_sd_configs", [{}])[0] for job in scraping["scrape_configs"]}
    assert (found["api"]["names"], found["api"]["port"]) == (["api"], int(last("EXPOSE")))
    worker_port = int(SERVICES["worker"]["environment"]["DEBATE_METRICS_PORT"])
    assert (found["worker"]["names"], found["worker"]["port"]) == (["worker"], worker_port)
    provisioning = monitoring / "grafana" / "provisioning"
    [provider] = yaml.safe_load((provisioning / "dashboards" / "debate.yml").read_text())["providers"]
    assert provider["options"]["path"] == "/etc/debate/dashboards"
    [source] = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
