"""The list of metrics, the dashboard and the alerts speak of what the processes show."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from harness import REPOSITORY
from prometheus_client import Counter

from app.observe import metrics

PAGE = (REPOSITORY / "docs" / "metrics.md").read_text()
DASHBOARD = json.loads((REPOSITORY / "monitoring" / "grafana" / "dashboards" / "debate.json").read_text())
RULES = yaml.safe_load((REPOSITORY / "monitoring" / "alerts.yml").read_text())["groups"][0]["rules"]
OF_PROMETHEUS = {"up": {"job", "instance"}}
OF_EVERY_SCRAPE = {"job", "instance"}
_ROW = re.compile(r"^\| `(debate_\w+)` \| (\w+) \| (.*?)\| (?:API|worker|both) \| (.*) \|$", re.MULTILINE)


def declared() -> dict[str, tuple[str, tuple[str, ...], str]]:
    found = {}
    for collector in metrics.REGISTRY._collector_to_names:
        name = f"{collector._name}_total" if isinstance(collector, Counter) else collector._name
        found[name] = (collector._type, tuple(collector._labelnames), collector._documentation)
    return found


def documented() -> dict[str, tuple[str, tuple[str, ...], str]]:
    return {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels)), words) for name, kind, labels, words in _ROW.findall(PAGE)
    }


def series() -> dict[str, set[str]]:
    """What may stand in a query, with its labels."""
    found: dict[str, set[str]] = {}
    for name, (kind, labels, _) in declared().items():
        endings = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        for ending in endings:
            found[name + ending] = {*labels, *OF_EVERY_SCRAPE, *({"le"} if ending == "_bucket" else ())}
    return found | OF_PROMETHEUS


def selectors(query: str) -> Iterator[Any]:
    """Every metric that a query names, as promql-parser (the grammar of Prometheus itself) reads it."""
    waiting = [promql_parser.parse(query.replace("$__rate_interval", "5m"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, promql_parser.VectorSelector):
            yield node
        for name in ("expr", "lhs", "rhs", "vector_selector", "args", "param"):
            below = getattr(node, name, None)
            waiting += below if isinstance(below, list) else [below] if below is not None else []


def grouped_by(query: str) -> set[str]:
    return {label.strip() for found in re.findall(r"\bby \(([^)]*)\)", query) for label in found.split(",")}


def check(query: str) -> None:
    known = series()
    named = list(selectors(query))
    assert named, query
    labels: set[str] = set()
    for selector in named:
        assert selector.name in known, f"{query}: no metric is called {selector.name}"
        matched = {matcher.name for matcher in selector.matchers.matchers}
        assert matched <= known[selector.name], query
        labels |= known[selector.name]
    assert grouped_by(query) <= labels, query


PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def test_the_page_lists_every_metric_and_no_other() -> None:
    assert documented() == declared()


def test_a_metric_is_named_as_prometheus_wants_it() -> None:
    for name, (kind, labels, words) in declared().items():
        assert name.startswith("debate_")
        assert name.endswith("_total") == (kind == "counter")
        assert name.endswith("_seconds") == (kind == "histogram")
        assert not {"id", "debate_id", "turn_id", "title", "agent"} & set(labels)
        assert words


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_metrics_that_exist(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        check(target["expr"])
        shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        by = grouped_by(target["expr"])
        assert shown <= (by or {*OF_EVERY_SCRAPE, *by})


def test_the_dashboard_shows_every_metric() -> None:
    asked = {selector.name for panel in PANELS for target in panel["targets"] for selector in selectors(target["expr"])}
    base = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
    assert set(declared()) - base == set()


def test_panels_have_places_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_metrics_that_exist_and_says_what_to_do(rule: dict[str, Any]) -> None:
    check(rule["expr"])
    assert rule["labels"]["severity"] in ("warning", "critical")
    description = rule["annotations"]["description"].strip()
    assert re.search(r"[A-Z].{40,}\.$", description)
    assert rule["annotations"]["summary"]
    for setting in re.findall(r"DEBATE_[A-Z_]+", description):
        assert f"| `{setting}` |" in (REPOSITORY / "docs" / "configuration.md").read_text()


def test_a_player_beyond_the_hundredth_is_one_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_players", set())
    labels = {metrics.player_label(f"openai:made-up-{number}") for number in range(200)}
    assert len(labels) == metrics.MOST_PLAYERS + 1
    assert metrics.player_label("openai:made-up-0") == "openai:made-up-0"
    assert metrics.provider_label("openai:made-up-999") == "openai"
