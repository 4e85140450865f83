"""The tools: each makes the call that the HTTP API makes, for the same caller."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, get_type_hints
from uuid import UUID, uuid4

from pydantic import BaseModel

from app.core.access import Action, Caller, Guest, may, require
from app.core.debate import Debate, Status, TurnType
from app.core.errors import Forbidden, InvalidInput
from app.core.players import EXTERNAL, JudgeOrder
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.http import requests
from app.http.experiments.judgments import OpinionBody
from app.http.mcp import inputs, outputs
from app.http.mcp.outputs import TOOL_OF, argument_shape, debate_shape, next_wait, turn_state
from app.realtime.credentials import KeyWatch
from app.realtime.longpoll import wait_for_change
from app.realtime.relay import Relay
from app.usecases import control, create, judgments, read, seats
from app.usecases.formats import schedule_for
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from app.usecases.transactions import refused
from app.wire.debates import ArgumentShape, time_json
from app.wire.experiments import JudgmentShape
from app.words.schedules import order_of_speech
from app.words.seats import rules

Json = dict[str, Any]
MOST_NEW = 200
"""Arguments in one response; the next call continues after `seq`."""

SEATS_PAGE = requests.MOST_LISTED
"""Debates that one statement searches for open seats."""
MOST_SEATS = 200
LOOK_SECONDS = 20.0
"""If nearly all seats are held, the response has the seats found so far: clients give up after 60 seconds."""


@dataclass(frozen=True, slots=True)
class Context:
    """Who calls, and what the call needs."""

    services: Services
    relay: Relay
    keys: KeyWatch
    caller: Caller

    @property
    def max_bytes(self) -> int:
        return self.services.settings.max_content_length


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    """Says when to call the tool: models choose by this text."""
    takes: type[BaseModel]
    answers: Json
    action: Action
    """What the caller must be allowed to do; a tool that a key may never use is not listed for it."""
    run: Callable[[Context, Any], Json]


TOOLS: list[Tool] = []
"""In the order in which clients see them."""
Run = TypeVar("Run", bound=Callable[[Context, Any], Json])


def _tool(action: Action, answers: Json) -> Callable[[Run], Run]:
    """Makes a tool of a function: its name, its docstring as the description, and the type of what it is given."""

    def register(run: Run) -> Run:
        description = " ".join(str(run.__doc__).split())
        TOOLS.append(Tool(run.__name__, description, get_type_hints(run)["given"], answers, action, run))
        return run

    return register


@_tool(Action.READ, outputs.DEBATES)
def list_debates(context: Context, given: inputs.ListDebates) -> Json:
    """List debates by last activity. Call it to find a debate by its title or status."""
    query = requests.ListQuery.model_validate({"status": given.status or "", "q": given.q or "", "limit": given.limit})
    page = read.list_debates(context.services, context.caller, query.filters(), query.limit, 0, None)
    return {"debates": [debate_shape(debate) for debate in page.debates]}


@_tool(Action.READ, outputs.SEATS)
def open_seats(context: Context, given: inputs.OpenSeats) -> Json:
    """List open seats. Call it if you should join a debate and have no ID."""
    active = {"status": f"{Status.CREATED},{Status.RUNNING}", "player": EXTERNAL, "limit": SEATS_PAGE}
    query = requests.ListQuery.model_validate(active)
    found: list[Json] = []
    cursor, deadline = None, time.monotonic() + LOOK_SECONDS
    while True:
        page = read.list_debates(context.services, context.caller, query.filters(), query.limit, 0, cursor)
        found += [
            {"debate_id": str(debate.id), "title": debate.title, "role": seat.role}
            for debate in page.debates
            for seat in Seat
            if given.role in (None, seat.role) and _is_open(debate, seat, context.caller)
        ]
        cursor = page.next_cursor
        if cursor is None or len(found) >= MOST_SEATS or time.monotonic() > deadline:
            return {"open": found[:MOST_SEATS]}


def _is_open(debate: Debate, seat: Seat, caller: Caller) -> bool:
    setup = debate.seats[seat]
    may_sit = may(caller, Action.RULE if seat is Seat.ARBITRATOR else Action.SPEAK)
    return may_sit and setup.is_external and setup.holder is None


@_tool(Action.CREATE, outputs.ONE_DEBATE)
def create_debate(context: Context, given: inputs.CreateDebate) -> Json:
    """Start a debate about a motion or a plan. Call it when an opponent should examine a statement. To hold a seat
    yourself, make that seat external."""
    described = {
        role: {"player": seat} if isinstance(seat, str) else seat for role, seat in (given.seats or {}).items()
    }
    motion = " ".join(given.motion.split())
    body = requests.CreateDebateBody.model_validate(
        {
            "title": given.title or (motion if len(motion) <= 200 else motion[:199] + "…"),
            "debate_type": given.debate_type,
            "motion_content": given.motion,
            "client_request_id": given.client_request_id or str(uuid4()),
            "format": given.format,
            "seats": described or None,
            "limits": {"max_rounds": given.max_rounds} if given.max_rounds else None,
        }
    )
    schedule = schedule_for(context.services, context.caller, body.format, body.client_request_id)
    stored = create.create_debate(context.services, context.caller, body.new_debate(schedule))
    ours = [seat for seat in Seat if stored.debate.seats[seat].player == EXTERNAL]
    seat = ours[0] if ours else Seat.PROPOSER
    return {"debate": debate_shape(stored.debate), "next_call": next_wait(stored.debate, seat, 0)}


@_tool(Action.SPEAK, outputs.ONE_DEBATE)
def take_seat(context: Context, given: inputs.OfSeat) -> Json:
    """Take an open seat, so that no other agent can speak in it. Call it once before your first wait_for_turn."""
    seat = Seat(given.role)
    debate = seats.take_seat(context.services, context.caller, given.debate_id, seat)
    return {"debate": debate_shape(debate), "next_call": next_wait(debate, seat, 0)}


@_tool(Action.READ, outputs.TURN)
def wait_for_turn(context: Context, given: inputs.WaitForTurn) -> Json:
    """Wait until it is your turn or the debate is closed, and return the arguments after after_seq. Call it after you
    take a seat and after each of your turns. Call it again while the state is waiting."""
    seat = Seat(given.role)
    _wait_until_it_matters(context, given.debate_id, seat, given.after_seq, given.max_seconds)
    debate, turns = read.turns_after(context.services, given.debate_id, given.after_seq, MOST_NEW)
    seq = turns[-1].seq if turns else given.after_seq
    view = seat_view(debate, seat)
    order = order_of_speech(debate.schedule, debate.limits.max_rounds) if view.has_turn else ""
    return {
        "state": turn_state(view),
        "seq": seq,
        "new": [argument_shape(ArgumentShape.of(turn)) for turn in turns],
        "rules": f"{order} {rules(view, debate.answers, TOOL_OF, context.max_bytes)}".strip(),
        "answer_by": time_json(view.deadline) if view.has_turn else None,
        "next_call": None if view.has_turn else next_wait(debate, seat, seq),
    }


def _wait_until_it_matters(context: Context, debate_id: UUID, seat: Seat, after_seq: int, max_seconds: float) -> None:
    """Until it is this seat's turn, the debate is closed, or the time is over."""
    deadline = time.monotonic() + max_seconds
    debate, _ = read.turns_after(context.services, debate_id, after_seq, 1)
    if after_seq > debate.turn_count:
        raise InvalidInput("after_seq", f"this debate has only {debate.turn_count} arguments")
    if not _waits(debate, seat) or not max_seconds:
        return
    relay, hold = context.relay, partial(context.keys.watch, context.caller)
    with relay.listen(debate_id, kind="wait") as listener, hold(listener.cancel) as key:
        # If the feed is of a deleted debate, this wait ends immediately; the next one gets the new debate's feed.
        relay.is_of(listener, time_json(debate.created_at))
        is_change = True
        while is_change:
            # Read after listening began, so that nothing is missed between the read and the wait.
            debate, _ = read.turns_after(context.services, debate_id, after_seq, 1)
            is_change = _waits(debate, seat) and wait_for_change(listener, debate.turn_count, deadline)
    if key.is_lost:
        raise refused()


def _waits(debate: Debate, seat: Seat) -> bool:
    view = seat_view(debate, seat)
    return not (view.is_closed or view.has_turn)


def _submitted(context: Context, given: inputs.MoveInput, seat: Seat, kind: TurnType, **more: Any) -> Json:
    submission = Submission(seat, kind, given.content, given.client_request_id, **more)
    stored = submit(context.services, context.caller, given.debate_id, submission)
    return {
        "debate": debate_shape(stored.debate),
        "argument": argument_shape(ArgumentShape.of(stored.turn)),
        "next_call": next_wait(stored.debate, seat, stored.turn.seq),
    }


@_tool(Action.SPEAK, outputs.STORED)
def argue(context: Context, given: inputs.Argue) -> Json:
    """Submit your argument as proposer or opponent. Call it once when wait_for_turn returns your_turn."""
    return _submitted(context, given, Seat(given.role), TurnType.CLAIM)


@_tool(Action.SPEAK, outputs.STORED)
def appeal(context: Context, given: inputs.MoveInput) -> Json:
    """As proposer, ask the judge for a ruling instead of arguing. Call it when the debate repeats itself."""
    return _submitted(context, given, Seat.PROPOSER, TurnType.APPEAL)


@_tool(Action.SPEAK, outputs.STORED)
def resolve(context: Context, given: inputs.MoveInput) -> Json:
    """As proposer, close the debate with your text as its result. Call it when both sides agree."""
    return _submitted(context, given, Seat.PROPOSER, TurnType.RESOLUTION)


@_tool(Action.RULE, outputs.STORED)
def rule(context: Context, given: inputs.RulingInput) -> Json:
    """As judge, submit a ruling. If the debate has answers, decide which one is correct. Call it when wait_for_turn
    returns your_turn and its rules name this tool."""
    verdict = None
    if given.winner is not None:
        if given.scores is None:
            raise InvalidInput("scores", "are required with a winner: 0 to 10 for proposer and opponent")
        reasoning = given.reasoning or given.content
        scores = given.scores.model_dump()
        verdict = Verdict(given.winner, scores, reasoning, given.close, confidence=given.confidence)
    return _submitted(context, given, Seat.ARBITRATOR, TurnType.RULING, close=given.close, verdict=verdict)


@_tool(Action.RULE, outputs.STORED)
def ask(context: Context, given: inputs.MoveInput) -> Json:
    """As judge, ask both sides a question before the last round. Call it when the rules name this tool."""
    return _submitted(context, given, Seat.ARBITRATOR, TurnType.QUESTION)


@_tool(Action.READ, outputs.TRANSCRIPT)
def transcript(context: Context, given: inputs.TranscriptInput) -> Json:
    """Read the arguments of a debate in order. Call it to read the result, or a debate in which you hold no seat."""
    debate, turns = read.turns_after(context.services, given.debate_id, given.after_seq, MOST_NEW)
    return {
        "debate": debate_shape(debate),
        "arguments": [argument_shape(ArgumentShape.of(turn)) for turn in turns],
    }


@_tool(Action.JUDGE, outputs.JUDGED)
def judge(context: Context, given: inputs.JudgmentInput) -> Json:
    """Submit your judgment of a closed debate that you took no part in. If the debate has answers, decide which one is
    correct. This does not change the debate."""
    opinion = OpinionBody.model_validate(given.model_dump(exclude={"debate_id"}))
    stored, _ = judgments.give(
        context.services, context.caller, given.debate_id, None, JudgeOrder.AS_SPOKEN, opinion.verdict()
    )
    return {"judgment": JudgmentShape.of(stored)}


@_tool(Action.CONTROL, outputs.ONE_DEBATE)
def stop(context: Context, given: inputs.Stop) -> Json:
    """Stop a debate now. Call it only if a person asked for it."""
    debate = control.stop_debate(context.services, context.caller, given.debate_id, given.reason)
    return {"debate": debate_shape(debate), "next_call": None}


def allowed(caller: Caller, tool: Tool) -> None:
    """Raises Forbidden when this caller may use the tool in no debate."""
    if isinstance(caller, Guest) and not issubclass(tool.takes, inputs.OfDebate):
        raise Forbidden("This key gives access to one seat of one debate only")
    if tool.name == "take_seat" and may(caller, Action.RULE):
        return
    require(caller, tool.action)
