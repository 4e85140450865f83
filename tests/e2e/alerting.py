"""A real Prometheus and a real Alertmanager with the project's rules, and what they say."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml
from harness import REPOSITORY, wait_until

from app.cli.stack import free_port

PROMETHEUS = shutil.which("prometheus")
ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
MONITORING = REPOSITORY / "monitoring"
PATIENCE = 60
"""By how much the time that an alert has to last is shortened."""
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_RANGE = re.compile(r"(?<=\[)(\d+)([smh])(?=\])|(?<=offset )(\d+)([smh])")
_DURATION = re.compile(r"(\d+)([smh])")


def rules() -> dict[str, dict[str, Any]]:
    [group] = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def longest_range(rule: dict[str, Any]) -> int:
    """How many seconds the rule looks back."""
    found = [match[0] for match in _RANGE.finditer(rule["expr"])]
    return max((_seconds(text) for text in found), default=0)


def quicker(rule: dict[str, Any], speed: int) -> dict[str, Any]:
    """With a shorter patience; and where `speed` is more than 1 it looks back a shorter time. Nothing else changes."""
    made = dict(rule)
    if "for" in rule:
        made["for"] = f"{_seconds(rule['for']) // PATIENCE}s"
    if speed > 1:
        made["expr"] = _RANGE.sub(lambda match: f"{_seconds(match[0]) // speed}s", rule["expr"])
    return made


def _seconds(duration: str) -> int:
    number, unit = _DURATION.fullmatch(duration).groups()  # type: ignore[union-attr]
    return int(number) * _SECONDS[unit]


class Receiver:
    """Where Alertmanager posts to: which alerts it was told of, and which of them as over."""

    def __init__(self) -> None:
        self.told: dict[str, set[str]] = {"firing": set(), "resolved": set()}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                posted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for alert in posted["alerts"]:
                    outer.told[alert["status"]].add(alert["labels"]["alertname"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Alerting:
    def __init__(self, prometheus: int, alertmanager: int, receiver: Receiver) -> None:
        self._http = httpx.Client(timeout=30, trust_env=False)
        self._prometheus = f"http://127.0.0.1:{prometheus}"
        self._alertmanager = f"http://127.0.0.1:{alertmanager}"
        self.receiver = receiver

    def firing(self) -> dict[str, list[dict[str, Any]]]:
        """As Alertmanager has them, those that another one inhibits included, by name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for alert in self._http.get(f"{self._alertmanager}/api/v2/alerts").json():
            found.setdefault(alert["labels"]["alertname"], []).append(alert)
        return found

    def targets_up(self) -> int:
        targets = self._http.get(f"{self._prometheus}/api/v1/targets").json()["data"]["activeTargets"]
        return sum(target["health"] == "up" for target in targets)

    def value(self, query: str) -> Any:
        """What Prometheus answers now, for messages."""
        return self._http.get(f"{self._prometheus}/api/v1/query", params={"query": query}).json()["data"]["result"]

    def answer(self) -> bool:
        try:
            pages = (f"{self._prometheus}/-/ready", f"{self._alertmanager}/-/ready")
            return all(self._http.get(page).status_code == 200 for page in pages)
        except httpx.TransportError:
            return False


@contextmanager
def alerting(directory: Path, targets: dict[str, list[int]], speed: int) -> Iterator[Alerting]:
    """Scrapes these ports of this machine every second, by job."""
    receiver = Receiver()
    prometheus, alertmanager = free_port("127.0.0.1"), free_port("127.0.0.1")
    quick = [quicker(rule, speed) for rule in rules().values()]
    (directory / "alerts.yml").write_text(yaml.safe_dump({"groups": [{"name": "debate-runner", "rules": quick}]}))
    scraped = [
        {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
        for job, ports in targets.items()
    ]
    to_alertmanager = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]}
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(directory / "alerts.yml")],
        "alerting": to_alertmanager,
        "scrape_configs": scraped,
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    # The address itself: Alertmanager before 0.26, such as Debian 12's, does not read it from a file.
    routes = re.sub(r"url_file: \S+", f"url: {receiver.url}", (MONITORING / "alertmanager.yml").read_text())
    routes = re.sub(r"(group_wait|group_interval): \w+", r"\1: 1s", routes)
    (directory / "alertmanager.yml").write_text(routes)
    commands = [
        [
            str(ALERTMANAGER),
            f"--config.file={directory / 'alertmanager.yml'}",
            f"--storage.path={directory / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{alertmanager}",
            "--cluster.listen-address=",
        ],
        [
            str(PROMETHEUS),
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{prometheus}",
        ],
    ]
    with (directory / "monitoring.log").open("wb") as log:
        started = [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            for command in commands
        ]
    made = Alerting(prometheus, alertmanager, receiver)
    try:
        wait_until(made.answer, 60, f"both answer: {directory / 'monitoring.log'}")
        yield made
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)
        receiver.close()
