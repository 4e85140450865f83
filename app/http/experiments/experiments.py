"""The API of experiments. Each view parses, makes one call, and serialises."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from flask import Response, request

from app.core.access import Caller
from app.http import answers
from app.http.access import current_caller
from app.http.answers import success
from app.http.blueprint import Blueprint, api_blueprint
from app.http.experiments import shapes
from app.http.experiments.shapes import ExperimentPath
from app.store.experiments.experiments import Experiment
from app.usecases.experiments import manage, read
from app.usecases.experiments.imports import import_rows
from app.usecases.experiments.results import exported, results_of_experiment
from app.usecases.services import Services
from app.wire import tables
from app.wire.experiments import MatchShape, estimate_json, experiment_json, plan_json

_ONE: answers.Responses = {200: shapes.ExperimentAnswer, 409: answers.ErrorAnswer}
_COUNTED: answers.Responses = {200: shapes.CountedAnswer, 409: answers.ErrorAnswer}
_AT = "/experiments/<experiment_id>"
Control = Callable[[Services, Caller, UUID], Experiment]


def _blueprint(name: str) -> Blueprint:
    return api_blueprint(name, "Many debates between contestants, judged for comparison", tag="experiments")


def _shown(services: Services, experiment_id: UUID, status: int = 200, **more: Any) -> tuple[Response, int]:
    shown = read.show(services, experiment_id)
    estimate = estimate_json(shown.experiment, shown.estimate)
    return success({"experiment": experiment_json(shown.experiment, shown.progress, estimate), **more}, status)


def experiments_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiments")

    @api.post(
        "/experiments",
        summary="Create an experiment as a draft, or extend the one with that name",
        responses={201: shapes.ExperimentAnswer, **_ONE},
    )
    def draft(body: shapes.SpecBody) -> tuple[Response, int]:
        made, is_new = manage.draft(services, current_caller(), body.stated())
        return _shown(services, made.id, 201 if is_new else 200)

    @api.get("/experiments", summary="Experiments by last change", responses={200: shapes.ExperimentsAnswer})
    def list_all(query: shapes.ExperimentsQuery) -> tuple[Response, int]:
        page = read.page(services, query.cursor, query.limit)
        shown = [experiment_json(one, progress) for one, progress in page.items]
        return success({"experiments": shown, "next_cursor": page.next_cursor})

    @api.get(_AT, summary="An experiment with its progress, cost and time left", responses=_ONE)
    def get(path: ExperimentPath) -> tuple[Response, int]:
        return _shown(services, path.experiment_id)

    @api.delete(_AT, summary="Delete an experiment, its debates and judgments", responses={200: answers.DeletedAnswer})
    def delete(path: ExperimentPath) -> tuple[Response, int]:
        manage.delete(services, current_caller(), path.experiment_id)
        return success({"deleted": True})

    @api.post(
        f"{_AT}/motions",
        summary="Add motions, one JSON object a line; a motion that is there already is not added again",
        responses={200: shapes.MotionsAnswer, 409: answers.ErrorAnswer},
        openapi_extensions=shapes.MOTIONS_FILE,
    )
    def add_motions(path: ExperimentPath) -> tuple[Response, int]:
        body = request.get_data()
        given = services.run_aside(lambda: shapes.motions_in(body))
        added, motions = manage.add_motions(services, current_caller(), path.experiment_id, given)
        return success({"added": added, "motions": motions})

    @api.get(f"{_AT}/plan", summary="What a start would run, and its cost", responses={200: shapes.PlanAnswer})
    def plan(path: ExperimentPath) -> tuple[Response, int]:
        return success({"plan": plan_json(*read.plan(services, current_caller(), path.experiment_id))})

    @api.post(
        "/experiments/plan",
        summary="What this spec would run, and its cost; nothing is stored",
        responses={200: shapes.PlanAnswer, 409: answers.ErrorAnswer},
    )
    def plan_spec(body: shapes.PlanBody) -> tuple[Response, int]:
        motions = services.run_aside(body.planned_motions)
        return success({"plan": plan_json(*read.plan_spec(services, current_caller(), body.spec, motions))})

    @api.get(f"{_AT}/matches", summary="Its matches, in their order", responses={200: shapes.MatchesAnswer})
    def matches(path: ExperimentPath, query: shapes.MatchesQuery) -> tuple[Response, int]:
        found, cursor = read.matches(services, path.experiment_id, query.filters(), query.cursor, query.limit)
        return success({"matches": [MatchShape.of(one) for one in found], "next_cursor": cursor})

    return api


_EXPORTS = {
    "csv": (tables.as_csv, "text/csv"),
    "jsonl": (tables.as_json_lines, "application/x-ndjson"),
    "parquet": (tables.as_parquet, "application/vnd.apache.parquet"),
}
_EXPORT_RESPONSES: answers.Responses = {
    200: {"description": "The rows", "content": {mimetype: {"schema": {}} for _, mimetype in _EXPORTS.values()}}
}


def experiment_results_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiment_results")

    @api.get(f"{_AT}/results", summary="Results so far", responses={200: shapes.ResultsAnswer})
    def results(path: ExperimentPath) -> tuple[Response, int]:
        found = results_of_experiment(services, path.experiment_id)
        return success({"results": found})

    @api.post(
        "/experiments/import",
        summary="An experiment from judgments that were made elsewhere: CSV with the columns of the export",
        responses={201: shapes.ExperimentAnswer, 409: answers.ErrorAnswer},
        openapi_extensions=shapes.JUDGMENTS_FILE,
    )
    def import_judgments(query: shapes.ImportQuery) -> tuple[Response, int]:
        body = request.get_data()
        given = services.run_aside(lambda: shapes.judgments_in(body))
        made = import_rows(services, current_caller(), query.name, given)
        return _shown(services, made, 201)

    @api.get(f"{_AT}/export", summary="Its debates, turns or judgments as a download", responses=_EXPORT_RESPONSES)
    def export(path: ExperimentPath, query: shapes.RowsQuery) -> Response:
        pages = exported(services, path.experiment_id, query.what)
        render, mimetype = _EXPORTS[query.format]
        response = Response(render(query.what, pages), mimetype=mimetype)
        name = f"{query.what}-{path.experiment_id}.{query.format}"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    return api


def experiment_control_blueprint(services: Services) -> Blueprint:
    api = _blueprint("experiment_control")

    def changed(control: Control, path: ExperimentPath) -> tuple[Response, int]:
        control(services, current_caller(), path.experiment_id)
        return _shown(services, path.experiment_id)

    @api.post(f"{_AT}/start", summary="Start an experiment: plan the missing matches and run them", responses=_ONE)
    def start(path: ExperimentPath) -> tuple[Response, int]:
        return changed(manage.start, path)

    @api.post(f"{_AT}/resume", summary="Resume an experiment after a pause or a stop", responses=_ONE)
    def resume(path: ExperimentPath) -> tuple[Response, int]:
        return changed(manage.start, path)

    @api.post(
        f"{_AT}/pause",
        summary="Pause an experiment: no new debates begin; those under way are finished",
        responses=_ONE,
    )
    def pause(path: ExperimentPath) -> tuple[Response, int]:
        return changed(manage.pause, path)

    @api.post(f"{_AT}/stop", summary="Stop an experiment: nothing new begins; start continues it", responses=_ONE)
    def stop(path: ExperimentPath) -> tuple[Response, int]:
        return changed(manage.stop, path)

    @api.post(f"{_AT}/retry-failed", summary="Try failed matches and judgments again", responses=_COUNTED)
    def retry_failed(path: ExperimentPath) -> tuple[Response, int]:
        _, count = manage.retry_failed(services, current_caller(), path.experiment_id)
        return _shown(services, path.experiment_id, count=count)

    @api.post(f"{_AT}/judges", summary="Have the finished debates judged by more judges", responses=_COUNTED)
    def add_judges(path: ExperimentPath, body: shapes.JudgesBody) -> tuple[Response, int]:
        _, count = manage.add_judges(services, current_caller(), path.experiment_id, body.judges)
        return _shown(services, path.experiment_id, count=count)

    return api
