"""Experiments: create, run, read, export and import them."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from flask import Response, request

from app.core.access import Action, Caller
from app.http import imported
from app.http.access import current_caller
from app.http.answers import DeletedAnswer, download, downloaded, success
from app.http.blueprint import Blueprint, View, api_blueprint
from app.http.experiments import shapes
from app.http.experiments.shapes import CountedAnswer, ExperimentAnswer, PlanAnswer
from app.http.rules import LARGE_BODY, LARGEST_BODY
from app.store.experiments.experiments import Experiment
from app.usecases.experiments import manage, read
from app.usecases.experiments.imports import import_debates, import_rows
from app.usecases.experiments.results import exported, results_of_experiment
from app.usecases.imports import text_limits
from app.usecases.services import Services
from app.wire import tables
from app.wire.experiments import estimate_json, experiment_json, plan_json

_AT = "/experiments/<experiment_id>"
Control = Callable[[Services, Caller, UUID], Experiment]


def _blueprint(name: str) -> Blueprint:
    return api_blueprint(name, "Run many debates between contestants and compare the results", tag="experiments")


def _shown(services: Services, experiment_id: UUID, status: int = 200, **more: Any) -> tuple[Response, int]:
    shown = read.show(services, experiment_id)
    estimate = estimate_json(shown.experiment, shown.estimate)
    return success({"experiment": experiment_json(shown.experiment, shown.progress, estimate), **more}, status)


def experiments_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiments")

    @api.view("POST /experiments", ExperimentAnswer, 201, 200, 409, takes=Action.EXPERIMENT, max_bytes=LARGE_BODY)
    def draft(body: shapes.SpecBody) -> tuple[Response, int]:
        """Create an experiment as a draft, or extend the one with that name"""
        made, is_new = manage.draft(services, current_caller(), body.stated())
        return _shown(services, made.id, 201 if is_new else 200)

    @api.view("GET /experiments", shapes.ExperimentsAnswer)
    def list_all(query: shapes.ExperimentsQuery) -> tuple[Response, int]:
        """List experiments by last change"""
        page = read.page(services, query.cursor, query.limit)
        shown = [experiment_json(one, progress) for one, progress in page.items]
        return success({"experiments": shown, "next_cursor": page.next_cursor})

    @api.view(f"GET {_AT}", ExperimentAnswer, 200, 409)
    def get(experiment_id: UUID) -> tuple[Response, int]:
        """Read an experiment with its progress, cost and remaining time"""
        return _shown(services, experiment_id)

    @api.view(f"DELETE {_AT}", DeletedAnswer)
    def delete(experiment_id: UUID) -> dict[str, bool]:
        """Delete an experiment with its debates and judgments"""
        manage.delete(services, current_caller(), experiment_id)
        return {"deleted": True}

    @api.view(
        f"POST {_AT}/motions",
        shapes.MotionsAnswer,
        *(200, 409),
        takes=Action.EXPERIMENT,
        max_bytes=LARGE_BODY,
        is_lines=True,
        extensions=shapes.MOTIONS_FILE,
    )
    def add_motions(experiment_id: UUID) -> dict[str, int]:
        """Add motions, one JSON object a line; known motions are not added again"""
        body = request.get_data()
        given = services.run_aside(lambda: shapes.motions_in(body))
        added, motions = manage.add_motions(services, current_caller(), experiment_id, given)
        return {"added": added, "motions": motions}

    @api.view(f"GET {_AT}/plan", PlanAnswer)
    def plan(experiment_id: UUID) -> tuple[Response, int]:
        """Preview what a start would run, and its cost"""
        return success({"plan": plan_json(*read.plan(services, current_caller(), experiment_id))})

    @api.view(
        "POST /experiments/plan",
        PlanAnswer,
        *(200, 409),
        takes=Action.EXPERIMENT,
        max_bytes=LARGE_BODY,
        stores=False,
    )
    def plan_spec(body: shapes.PlanBody) -> tuple[Response, int]:
        """Preview what a spec would run, and its cost, without storing it"""
        motions = services.run_aside(body.planned_motions)
        return success({"plan": plan_json(*read.plan_spec(services, current_caller(), body.spec, motions))})

    @api.view(f"GET {_AT}/matches", shapes.MatchesAnswer)
    def matches(experiment_id: UUID, query: shapes.MatchesQuery) -> dict[str, Any]:
        """List an experiment's matches"""
        found, cursor = read.matches(services, experiment_id, query.filters(), query.cursor, query.limit)
        return {"matches": found, "next_cursor": cursor}

    return api


_EXPORTS = {
    "csv": (tables.as_csv, "text/csv"),
    "jsonl": (tables.as_json_lines, "application/x-ndjson"),
    "parquet": (tables.as_parquet, "application/vnd.apache.parquet"),
}
_EXPORTED = download("The rows", (mimetype for _, mimetype in _EXPORTS.values()))


def experiment_results_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiment_results")

    @api.view(f"GET {_AT}/results", shapes.ResultsAnswer)
    def results(experiment_id: UUID, query: shapes.ResultsQuery) -> tuple[Response, int]:
        """Read the results so far"""
        return success({"results": results_of_experiment(services, experiment_id, query.outcome, query.control)})

    @api.view(
        "POST /experiments/import",
        imported.ExperimentImportAnswer,
        *(201, 200, 409),
        takes=Action.EXPERIMENT,
        max_bytes=LARGEST_BODY,
        is_lines=True,
        extensions=imported.EXPERIMENT_FILE,
    )
    def import_(query: imported.ExperimentQuery) -> tuple[Response, int]:
        """Import an experiment: CSV of judgments as a new one, or JSON lines of debates, which also extend it"""
        body = request.get_data()
        if not imported.is_lines(request.mimetype):
            given = services.run_aside(lambda: imported.judgments_in(body))
            return _shown(
                services, import_rows(services, current_caller(), query.name, given), 201, **imported.NO_COUNTS
            )
        limits = text_limits(services)
        debates = services.run_aside(lambda: imported.debates_in(body, query.first_line, limits))
        made = import_debates(services, current_caller(), query.name, debates)
        return _shown(services, made.id, 201 if made.is_new else 200, **imported.counted(made.debates))

    @api.view(f"GET {_AT}/export", _EXPORTED)
    def export(experiment_id: UUID, query: shapes.RowsQuery) -> Response:
        """Download an experiment's debates, turns or judgments"""
        pages = exported(services, experiment_id, query.what)
        render, mimetype = _EXPORTS[query.format]
        return downloaded(render(query.what, pages), mimetype, f"{query.what}-{experiment_id}.{query.format}")

    return api


def experiment_control_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiment_control")

    def control(name: str, **rules: Any) -> Callable[[View], View]:
        return api.view(f"POST {_AT}/{name}", ExperimentAnswer, 200, 409, **rules)

    def changed(control: Control, experiment_id: UUID) -> tuple[Response, int]:
        control(services, current_caller(), experiment_id)
        return _shown(services, experiment_id)

    @control("start", spends=True)
    def start(experiment_id: UUID) -> tuple[Response, int]:
        """Start an experiment: plan the missing matches and run them"""
        return changed(manage.start, experiment_id)

    @control("resume", spends=True)
    def resume(experiment_id: UUID) -> tuple[Response, int]:
        """Resume a paused or stopped experiment"""
        return changed(manage.start, experiment_id)

    @control("pause")
    def pause(experiment_id: UUID) -> tuple[Response, int]:
        """Pause an experiment: running debates finish, and no new debate starts"""
        return changed(manage.pause, experiment_id)

    @control("stop")
    def stop(experiment_id: UUID) -> tuple[Response, int]:
        """Stop an experiment: no new debate or judgment starts until it is resumed"""
        return changed(manage.stop, experiment_id)

    @api.view(f"POST {_AT}/retry-failed", CountedAnswer, 200, 409, spends=True)
    def retry_failed(experiment_id: UUID) -> tuple[Response, int]:
        """Retry failed matches and judgments"""
        _, count = manage.retry_failed(services, current_caller(), experiment_id)
        return _shown(services, experiment_id, count=count)

    @api.view(f"POST {_AT}/judges", CountedAnswer, 200, 409, takes=Action.EXPERIMENT, spends=True)
    def add_judges(experiment_id: UUID, body: shapes.JudgesBody) -> tuple[Response, int]:
        """Add judges, who judge the finished debates too"""
        _, count = manage.add_judges(services, current_caller(), experiment_id, body.judges)
        return _shown(services, experiment_id, count=count)

    return api
