"""What happened to a debate, and what its models were sent: the pages behind "Show history" and "What it was sent"."""

from uuid import UUID

from flask import Blueprint, render_template, request

from app.core import event_words
from app.core.access import OPERATOR
from app.core.errors import InvalidInput
from app.usecases import read
from app.usecases.services import Services
from app.web import query

EVENTS = 200


def add_history(web: Blueprint, services: Services) -> None:
    @web.get("/debates/<debate_id>/history")
    def history(debate_id: str) -> str:
        the_id = query.uuid_of(debate_id, "debate")
        debate = read.get_transcript(services, the_id, 0).debate
        cursor = request.args.get("cursor") or None
        events, next_cursor = read.get_events(services, the_id, EVENTS, cursor)
        return render_template(
            "history.html",
            debate=debate,
            events=events,
            event_words=event_words,
            cursor=cursor,
            next_cursor=next_cursor,
        )

    @web.get("/debates/<debate_id>/turns/<argument_id>/exchange")
    def exchange(debate_id: str, argument_id: str) -> str:
        the_id = query.uuid_of(debate_id, "debate")
        try:
            turn_id = UUID(argument_id)
        except ValueError:
            raise InvalidInput("argument_id", "is not the id of a turn") from None
        debate = read.get_transcript(services, the_id, 0).debate
        turn, calls = read.get_exchanges(services, OPERATOR, the_id, turn_id)
        return render_template("exchange.html", debate=debate, turn=turn, calls=calls)
