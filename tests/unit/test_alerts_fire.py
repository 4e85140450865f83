"""Each alert fires on the series that it is meant for, and clears when they are well again: `promtool test rules`."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

MONITORING = Path(__file__).parents[2] / "monitoring"
PROMTOOL = shutil.which("promtool")
RULES = {rule["alert"]: rule for rule in yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]}


@dataclass(frozen=True)
class Case:
    """One sample a minute: `1x5` is 1 and five more, `0+2x5` grows by 2 with each, `_x5` is nothing five times."""

    alert: str
    series: dict[str, str]
    fires_at: str
    clears_at: str
    labels: dict[str, str] = field(default_factory=dict)
    summary: str | None = None
    """Where the rule's has a label in it."""


def slow(histogram: str, good: str, bad: str) -> dict[str, str]:
    """For half an hour everything is slower than the first bucket, then everything is in it."""
    every = "0+60x60"
    return {
        f'{histogram}_bucket{{le="{good}"}}': "0x30 0+60x30",
        f'{histogram}_bucket{{le="{bad}"}}': every,
        f'{histogram}_bucket{{le="+Inf"}}': every,
    }


API = {"job": "api", "instance": "api-1:3456"}
OF_API = 'job="api", instance="api-1:3456"'
STOPPED = "1x5 stale _x20 1x20"
"""A container that was stopped: its target is gone."""
CASES = [
    Case("DebateNoWorker", {'up{job="worker", instance="w"}': STOPPED}, "15m", "40m", {"job": "worker"}),
    Case("DebateNoWorker", {'up{job="worker", instance="w"}': "1x5 0x20 1x20"}, "15m", "40m"),
    Case("DebateApiDown", {f"up{{{OF_API}}}": STOPPED}, "15m", "40m", {"job": "api"}, "There is no API"),
    Case("DebateApiDown", {f"up{{{OF_API}}}": "1x5 0x20 1x20"}, "15m", "40m", API, "api-1:3456 does not answer"),
    Case("DebateQueueDelayHigh", slow("debate_queue_delay_seconds", "30", "60"), "20m", "55m"),
    Case(
        "DebateTurnsStalled",
        {
            'debate_turn_attempts_total{provider="openai"}': "0+5x60",
            'debate_turns_total{player="external", type="MOTION"}': "0+5x60",
            'debate_turns_total{player="openai:gpt-5-mini", type="CLAIM"}': "_x30 0+5x30",
        },
        "25m",
        "50m",
    ),
    Case(
        "DebatePlayersFail",
        {
            'debate_turn_attempts_total{provider="openai"}': "0+10x60",
            'debate_turn_failures_total{provider="openai", kind="key"}': "0+5x30 150x30",
        },
        "20m",
        "55m",
        {"provider": "openai"},
        "A third of the attempts at openai fail",
    ),
    *(
        Case(
            "DebatesFail",
            {'debate_debates_failed_total{provider="openai"}': values},
            "22m",
            "50m",
            {"provider": "openai"},
            "Debates fail for good at openai",
        )
        for values in ("_x20 1x40", "1x20 2x40")
    ),
    Case("DebateClaimsLost", {"debate_claims_lost_total": "0+5x30 150x40"}, "25m", "65m"),
    Case("DebateSweeperStopped", {"debate_sweeps_total": "0+60x5 300x20 300+60x20"}, "20m", "40m"),
    Case("DebateSweeperStopped", {"debate_sweeps_total": "0+60x5 stale _x20 0+60x20"}, "20m", "45m"),
    Case(
        "DebateSweeperFindsMuch",
        {
            "debate_claims_reclaimed_total": "0+5x70",
            'debate_turns_total{player="scripted", type="CLAIM"}': "0+1x30 30+60x40",
        },
        "25m",
        "65m",
    ),
    Case("DebateRelayLags", slow("debate_relay_lag_seconds", "2", "5"), "20m", "55m"),
    Case(
        "DebatePoolExhausted",
        {
            f"debate_database_connections_in_use{{{OF_API}}}": "16x20 1x20",
            f"debate_database_connections_max{{{OF_API}}}": "16x40",
        },
        "15m",
        "35m",
        API,
        "api-1:3456 uses almost all its database connections",
    ),
    Case(
        "DebateApiErrors",
        {
            'debate_http_requests_total{status="500", method="GET", route="/"}': "0+10x20 200x20",
            'debate_http_requests_total{status="200", method="GET", route="/"}': "0+10x40",
        },
        "15m",
        "38m",
    ),
    Case("DebateSpendingFast", {'debate_model_cost_usd_total{player="openai:x"}': "0+1x40 40x80"}, "30m", "115m"),
    Case("DebateGuardrailFails", {'debate_guardrail_failures_total{kind="timeout"}': "0+1x40 40x40"}, "30m", "75m"),
    Case(
        "DebateThreadsCrash",
        {f'debate_thread_restarts_total{{{OF_API}, thread="publisher"}}': "0+1x20 20x40"},
        "15m",
        "50m",
        {**API, "thread": "publisher"},
        "publisher of api-1:3456 crashes again and again",
    ),
]


def as_test(case: Case) -> dict[str, Any]:
    rule = RULES[case.alert]
    annotations = {**rule["annotations"], **({"summary": case.summary} if case.summary else {})}
    fired = {"exp_labels": {**rule["labels"], **case.labels}, "exp_annotations": annotations}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {"eval_time": case.fires_at, "alertname": case.alert, "exp_alerts": [fired]},
            {"eval_time": case.clears_at, "alertname": case.alert, "exp_alerts": []},
        ],
    }


def promtool(*arguments: str | Path) -> str:
    """What it complains of."""
    done = subprocess.run([str(PROMTOOL), *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_every_alert_has_its_case() -> None:
    assert {case.alert for case in CASES} == set(RULES)


@pytest.mark.long
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")
def test_prometheus_takes_the_rules_and_each_alert_fires_and_clears(tmp_path: Path) -> None:
    rules, file = MONITORING / "alerts.yml", tmp_path / "alerts.test.yml"
    assert promtool("check", "rules", rules) == ""
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [as_test(case) for case in CASES]}))
    assert promtool("test", "rules", file) == ""
