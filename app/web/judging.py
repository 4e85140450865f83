"""Blind judging: one debate after another, for a person with an invitation or for the operator. It works without
JavaScript; judge.js adds the keys."""

from uuid import UUID

from flask import Blueprint, g, redirect, render_template, request
from werkzeug.wrappers import Response

from app.core.access import Caller, GuestJudge
from app.core.errors import Forbidden, InvalidInput
from app.http import sessions
from app.http.sessions import DASHBOARD
from app.usecases.experiments import judging
from app.usecases.experiments.read import named
from app.usecases.identity import OPEN
from app.usecases.services import Services
from app.web import query

JUDGING = (f"{DASHBOARD}.judge_page", f"{DASHBOARD}.judge")
"""The pages that a guest judge sees, of the guest's own experiment."""
CONFIDENCE = {"0.55": "Hardly sure", "0.75": "Rather sure", "0.95": "Very sure"}


def add_judging(web: Blueprint, services: Services) -> None:
    @web.get("/experiments/<experiment_id>/judge")
    def judge_page(experiment_id: str) -> str:
        of = query.uuid_of(experiment_id, "experiment")
        named(services, of)
        judge = _judge(of, request.args.get("as", ""))
        if judge is None:
            return render_template("judge.html", judge=None, experiment_id=of)
        return render_template(
            "judge.html",
            judge=judge,
            experiment_id=of,
            next=judging.next_debate(services, judge),
            was_judged=request.args.get("again") == "1",
            confidence=CONFIDENCE,
        )

    @web.post("/experiments/<experiment_id>/judge")
    def judge(experiment_id: str) -> Response:
        if not sessions.is_same_origin(request):
            raise Forbidden("Judge on this server's own page")
        of = query.uuid_of(experiment_id, "experiment")
        who = _judge(of, request.form.get("as", ""))
        if who is None:
            raise InvalidInput("as", "say under which name you judge")
        sure = request.form.get("confidence") or None
        if sure is not None and sure not in CONFIDENCE:
            raise InvalidInput("confidence", f"must be one of {', '.join(CONFIDENCE)}")
        ticket, winner = request.form.get("ticket", ""), request.form.get("winner", "")
        is_new = judging.give(services, _caller(who), who, ticket, winner, float(sure) if sure else None)
        said = {"as": request.form.get("as", ""), "again": "" if is_new else "1"}
        return redirect(query.with_query(f"/experiments/{of}/judge", said), 303)


def _judge(experiment_id: UUID, name: str) -> GuestJudge | None:
    """The guest; or the operator, who says under which name. None where it is not said."""
    guest: GuestJudge | None = g.get("judge")
    if guest is not None:
        return guest
    # The operator sees everything elsewhere: what hides the debates from the page need not be secret.
    return GuestJudge(experiment_id, judging.named(name), experiment_id.bytes, b"") if name.strip() else None


def _caller(who: GuestJudge) -> Caller:
    return who if g.get("judge") is not None else g.get("session") or OPEN
