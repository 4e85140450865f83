"""Blind judging, one debate at a time, for an invited person or the operator. Works without JavaScript; judge.js adds
keys."""

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
"""The pages that a guest judge may open, for one experiment."""
CONFIDENCE = {"0.55": "Low", "0.75": "Medium", "0.95": "High"}


def add_judging(web: Blueprint, services: Services) -> None:
    @web.get("/experiments/<experiment_id>/judge")
    def judge_page(experiment_id: str) -> str:
        of = query.uuid_of(experiment_id, "experiment")
        named(services, of)
        judge = _judge(of, request.args.get("as", ""))
        return render_template(
            "judge.html",
            judge=judge,
            experiment_id=of,
            next=judging.next_debate(services, judge) if judge else None,
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
            raise InvalidInput("as", "enter the name to judge under")
        sure = request.form.get("confidence") or None
        if sure is not None and sure not in CONFIDENCE:
            raise InvalidInput("confidence", f"must be one of {', '.join(CONFIDENCE)}")
        ticket, winner = request.form.get("ticket", ""), request.form.get("winner", "")
        is_new = judging.give(services, _caller(who), who, ticket, winner, float(sure) if sure else None)
        said = {"as": request.form.get("as", ""), "again": "" if is_new else "1"}
        return redirect(query.with_query(f"/experiments/{of}/judge", said), 303)


def _judge(experiment_id: UUID, name: str) -> GuestJudge | None:
    """The guest, or the operator under the given name. None without a name."""
    guest: GuestJudge | None = g.get("judge")
    if guest is not None:
        return guest
    # The operator can read everything elsewhere, so the key that hides the debates need not be secret.
    return GuestJudge(experiment_id, judging.named(name), experiment_id.bytes, b"") if name.strip() else None


def _caller(who: GuestJudge) -> Caller:
    return who if g.get("judge") is not None else g.get("session") or OPEN
