"""The pages of experiments: the list, one with its figures, its debates, a pair side by side, and a comparison."""

from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from flask import Blueprint, render_template, request

from app.http.experiments.shapes import MatchesQuery
from app.store.experiments.experiments import Experiment, ExperimentStatus
from app.usecases.experiments import read
from app.usecases.experiments.results import compared, results_of_experiment
from app.usecases.services import Services
from app.web import query
from app.wire import figures
from app.wire.experiments import ProgressShape, cost_of, estimate_json
from app.words import experiments as about
from app.words.results import leader

ROWS = 20
DEBATES = 100
MOST_TURNS = 200
"""Of each debate of a pair; its own page has the rest."""
MOST_LISTED = 200
"""Experiments that are offered to compare with."""
Json = dict[str, Any]


def add_experiment_pages(web: Blueprint, services: Services) -> None:
    @web.get("/experiments/view")
    def experiments() -> str:
        cursor = query.cursor()
        page = read.page(services, cursor, ROWS)
        rows = [
            (one, ProgressShape.of(progress), cost_of(one, progress), _leader(results_of_experiment(services, one.id)))
            for one, progress in page.items
        ]
        return _page("experiments.html", rows=rows, cursor=cursor, next_cursor=page.next_cursor)

    @web.get("/experiments/<experiment_id>/view")
    def experiment(experiment_id: str) -> str:
        shown = read.show(services, _id(experiment_id))
        found = results_of_experiment(services, shown.experiment.id)
        return _page(
            "experiment.html",
            experiment=shown.experiment,
            progress=ProgressShape.of(shown.progress),
            state=_state(shown.experiment),
            spent_usd=cost_of(shown.experiment, shown.progress),
            estimate=estimate_json(shown.experiment, shown.estimate),
            found=found,
            cell_address=partial(_cell_address, shown.experiment.id),
            spec=figures.pretty(shown.experiment.stated),
            controls=controls(shown.experiment, shown.progress.matches.failed + shown.progress.judgments.failed),
        )

    @web.get("/experiments/<experiment_id>/debates")
    def experiment_debates(experiment_id: str) -> str:
        filters = query.parsed(MatchesQuery, request.args).filters()
        cursor = query.cursor()
        of = _id(experiment_id)
        matches, next_cursor = read.matches(services, of, filters, cursor, DEBATES)
        asked = {name: value for name, value in request.args.items() if value and name != "cursor"}
        return _page(
            "experiment_debates.html",
            experiment=read.named(services, of),
            matches=matches,
            filters=filters,
            cursor=cursor,
            address=f"?{urlencode(asked)}",
            next_address=f"?{urlencode({**asked, 'cursor': next_cursor})}" if next_cursor else None,
        )

    @web.get("/experiments/<experiment_id>/pair/<debate_id>")
    def experiment_pair(experiment_id: str, debate_id: str) -> str:
        of, sides = read.pair(services, _id(experiment_id), query.uuid_of(debate_id, "debate"), MOST_TURNS)
        return _page("pair.html", experiment=of, sides=sides, first=sides[0].match)

    @web.get("/experiments/<experiment_id>/compare")
    def experiment_compare(experiment_id: str) -> str:
        first = _id(experiment_id)
        other = request.args.get("with") or None
        listed = read.page(services, None, MOST_LISTED)
        both, found = compared(services, first, _id(other)) if other else ([read.named(services, first)], None)
        return _page(
            "compare.html",
            experiment=both[0],
            other=both[1] if other else None,
            found=found,
            setups=_setups(*both) if other else None,
            others=[one for one, _ in listed.items if one.id != first],
        )


def _page(template: str, **given: Any) -> str:
    return render_template(template, now=datetime.now(UTC), percent=_percent, figures=figures, **given)


def _id(text: str) -> UUID:
    return query.uuid_of(text, "experiment")


def _leader(found: Json) -> str:
    return leader([rows for _, rows in figures.by_arm(found["ratings"])], found["rests_on"]["judgments"])


def _state(experiment: Experiment) -> str:
    if experiment.imported:
        return about.IMPORTED
    return about.state(experiment.status, experiment.stop_reason, experiment.stop_note)


def _setups(first: Experiment, second: Experiment) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    before, after = (about.setup(one.spec, one.imported) for one in (first, second))
    return ("", first.name, second.name), [(name, said, after[name]) for name, said in before.items()]


def _percent(part: float, whole: float | None) -> int:
    """For a bar."""
    return 0 if not whole else min(100, round(100 * part / whole))


def _cell_address(experiment_id: UUID, cell: Json) -> str:
    asked: dict[str, str] = {name: cell[name] for name in ("arm", "proposer", "opponent") if name in cell}
    return f"/experiments/{experiment_id}/debates?{urlencode(asked)}"


def controls(experiment: Experiment, failed: int) -> list[str]:
    """What the use cases would accept now."""
    offered = {
        ExperimentStatus.DRAFT: ["start"],
        ExperimentStatus.RUNNING: ["pause", "stop"],
        ExperimentStatus.PAUSED: ["resume", "stop"],
        ExperimentStatus.STOPPED: ["resume"],
        ExperimentStatus.COMPLETED: [],
    }[experiment.status]
    return [*offered, *(["retry-failed"] if failed and not experiment.imported else [])]
