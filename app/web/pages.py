"""The pages. Each view reads once and renders once."""

from datetime import UTC, datetime

from flask import Blueprint, render_template, request

from app.core.debate import State, Status
from app.core.formats import Format
from app.core.seats import Seat
from app.usecases import watch
from app.usecases.services import Services
from app.usecases.system import system_status
from app.web import new, query
from app.web.controls import controls
from app.web.scores import chart_of

ROWS = 50
MOST_TURNS = 500
"""What a debate's page shows of a longer one; the rest is a link away."""


def add_pages(web: Blueprint, services: Services) -> None:
    @web.get("/")
    def debates() -> str:
        asked = query.list_query(request.args)
        page = watch.watch_list(services, asked.filters, ROWS, asked.cursor, asked.oldest_first)
        return render_template(
            "list.html",
            asked=asked,
            page=page,
            now=page.now,
            statuses=Status,
            states=State,
            formats=Format,
            sorts=query.SORTS,
            most=watch.EXACT_COUNT,
        )

    @web.get("/debates/<debate_id>/view")
    def debate(debate_id: str) -> str:
        first, turn = query.seq(request.args, "from"), query.seq(request.args, "turn")
        seen = watch.watch_debate(services, query.uuid_of(debate_id, "debate"), first, MOST_TURNS)
        if turn is not None and first is None and turn <= seen.watched.debate.turn_count - MOST_TURNS:
            # A link to an early turn of a long debate: everything from there on.
            seen = watch.watch_debate(services, query.uuid_of(debate_id, "debate"), turn, MOST_TURNS)
        return render_template(
            "debate.html",
            seen=seen,
            debate=seen.watched.debate,
            now=seen.now,
            controls=controls(seen.watched.debate),
            chart=chart_of(seen.verdicts),
            seats=Seat,
        )

    @web.get("/new")
    def new_debate() -> str:
        again = request.args.get("from")
        start = new.same_again(services, query.uuid_of(again, "debate")) if again else new.new_start(services)
        return render_template(
            "new.html",
            start=start,
            now=datetime.now(UTC),
            seats=Seat,
            players=new.players_to_choose(services, start),
            player_words=new.PLAYER_WORDS,
            max_bytes=services.settings.max_content_length,
        )

    @web.get("/system")
    def system() -> str:
        status = system_status(services)
        return render_template("system.html", status=status, now=status.work.now if status.work else datetime.now(UTC))
