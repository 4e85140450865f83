"""The pages. Each view reads once and renders once."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from flask import Blueprint, render_template, request

from app.core.access import OPERATOR
from app.core.debate import Debate, Status, Turn
from app.core.schedules import BUILT_IN
from app.core.seat_view import turn_view
from app.core.seats import Seat
from app.usecases import dashboard, judgments, read
from app.usecases.last_day import LastDays
from app.usecases.services import Services
from app.usecases.system import system_status
from app.web import forms, query
from app.web.forms import controls
from app.web.join import current_guest
from app.web.scores import chart_of
from app.wire.markdown import as_html
from app.words import money, times, turns
from app.words.counts import number

ROWS = 50
EVENTS = 200
FIRST_ARGUMENT = 2
"""Its seq: the motion is 1."""
MOST_TURNS = 500
"""A debate's page shows this many turns; a link leads to the rest."""

MOST_JUDGMENTS = 100
"""A debate's page shows this many; a link leads to all."""


def _render_texts(shown: Sequence[Turn], debate: Debate) -> None:
    """Renders the texts into the cache and yields to other requests, which the template cannot do."""
    for turn in shown:
        as_html(turns.text(turn.content, debate.material))
        time.sleep(0)


def _of_an_hour(kind: str, value: float) -> str:
    """A figure of the system page's charts."""
    if kind == "cost_usd":
        return money.cost(value)
    return times.short(value) if kind == "delay_seconds" else number(int(value))


def add_pages(web: Blueprint, services: Services) -> None:
    days = LastDays()

    @web.get("/")
    def debates() -> str:
        asked = query.list_query(request.args)
        sort = None if asked.sort in query.BY_ACTIVITY else asked.sort
        page = dashboard.list_page(
            services, asked.filters, ROWS, asked.cursor, asked.oldest_first, asked.backwards, sort
        )
        return render_template(
            "list.html",
            asked=asked,
            page=page,
            now=page.now,
            statuses=Status,
            formats=BUILT_IN.values(),
            sorts=query.SORTS,
            columns=query.COLUMNS,
        )

    @web.get("/debates/<debate_id>/view")
    def debate(debate_id: str) -> str:
        first, turn = query.seq(request.args, "from"), query.seq(request.args, "turn")
        seen = dashboard.debate_page(services, query.uuid_of(debate_id, "debate"), first, MOST_TURNS)
        if turn is not None and first is None and turn <= seen.row.debate.turn_count - MOST_TURNS:
            # A link to an early turn of a long debate: start there.
            seen = dashboard.debate_page(services, query.uuid_of(debate_id, "debate"), turn, MOST_TURNS)
        _render_texts(seen.arguments, seen.row.debate)
        shown, guest = seen.row.debate, current_guest()
        # Not for a request of new turns: the document never changes, and can be long.
        is_whole = first is None or first <= FIRST_ARGUMENT
        return render_template(
            "debate.html",
            seen=seen,
            debate=shown,
            document=read.document_for(services, guest or OPERATOR, shown) if is_whole else None,
            source=read.fork_source(services, guest or OPERATOR, shown) if is_whole else None,
            judgments=judgments.of_debate(services, shown.id) if shown.is_closed and guest is None else [],
            most_judgments=MOST_JUDGMENTS,
            now=seen.now,
            controls=controls(shown, guest),
            turn=turn_view(shown),
            chart=chart_of(seen.verdicts),
            seats=Seat,
        )

    @web.get("/debates/<debate_id>/history")
    def history(debate_id: str) -> str:
        the_id = query.uuid_of(debate_id, "debate")
        debate = read.get_transcript(services, the_id, 0).debate
        cursor = query.cursor()
        events, next_cursor = read.get_events(services, the_id, EVENTS, cursor)
        return render_template("history.html", debate=debate, events=events, cursor=cursor, next_cursor=next_cursor)

    @web.get("/debates/<debate_id>/turns/<argument_id>/exchange")
    def exchange(debate_id: str, argument_id: str) -> str:
        the_id = query.uuid_of(debate_id, "debate")
        turn_id = query.uuid_of(argument_id, "turn")
        debate = read.get_transcript(services, the_id, 0).debate
        turn, calls = read.get_exchanges(services, OPERATOR, the_id, turn_id)
        return render_template("exchange.html", debate=debate, turn=turn, calls=calls)

    @web.get("/new")
    def new_debate() -> str:
        again = request.args.get("from")
        start = (
            forms.same_again(services, query.uuid_of(again, "debate"))
            if again
            else forms.new_start(services, request.args.get("player"))
        )
        return render_template(
            "new.html",
            start=start,
            now=datetime.now(UTC),
            seats=Seat,
            formats=BUILT_IN.values(),
            players=forms.players_to_choose(services, start),
            is_beginning=forms.is_beginning,
            models=forms.with_usual_costs(forms.models_to_choose(services)),
            options=forms.OPTIONS,
            max_document_bytes=services.settings.max_document_length,
            max_bytes=services.settings.max_content_length,
        )

    @web.get("/system")
    def system() -> str:
        status = system_status(services)
        day = days.get(services) if status.work else None
        now = status.work.now if status.work else datetime.now(UTC)
        return render_template("system.html", status=status, day=day, now=now, seats=Seat, of_an_hour=_of_an_hour)
