"""Seats and who fills them."""

from collections.abc import Mapping, Sequence

from app.core.players import EXTERNAL, LOCAL, SCRIPTED, OnTimeout, SeatSetup
from app.core.schedules import Schedule
from app.core.seats import Seat
from app.words.counts import number
from app.words.judgments import reads
from app.words.times import time_left

KINDS = {
    EXTERNAL: "a person or an agent",
    SCRIPTED: "imitates a model, free",
    LOCAL: "a small model of 135 million parameters, free",
}
_HOLDERS = {"operator": "the operator", "guest": "an invited guest"}


def seat_name(role: str) -> str:
    """People read "judge" where the API says "arbitrator"."""
    return Seat(role).word


def all_of(schedule: Schedule, names: Mapping[str, str]) -> str:
    """Who debates, and who judges, from the players' names by role; one name if all are the same player."""
    debaters, judge = [names[seat.role] for seat in schedule.debaters], names["arbitrator"]
    return judge if set(debaters) <= {judge} else f"{' v '.join(debaters)}, judge {judge}"


def seats(of: Sequence[Seat]) -> str:
    names = [f"the {seat.word}" for seat in of]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "no seat"


def holder(setup: SeatSetup) -> str | None:
    """Who holds an external seat; None for an open one."""
    if setup.held_by_name is not None:
        return _HOLDERS.get(setup.held_by_name, f"agent {setup.held_by_name}")
    return "the agent that it is bound to" if setup.agent_id is not None else None


def options(setup: SeatSetup) -> list[str]:
    """The options of a seat, without its player and its persona."""
    said = []
    if setup.temperature is not None:
        said.append(f"temperature {setup.temperature:g}")
    if setup.thinking:
        said.append(f"thinking {setup.thinking}")
    if setup.max_tokens is not None:
        said.append(f"at most {number(setup.max_tokens)} tokens an answer")
    if setup.judge_order:
        said.append(reads(setup.judge_order))
    if setup.think_seconds:
        said.append(f"takes {setup.think_seconds:g} s a turn")
    if setup.early_stop:
        said.append("ends the debate early if one side clearly leads")
    for name in ("skill", "position_bias", "noise"):
        value = getattr(setup, name)
        if value is not None:
            said.append(f"{name.replace('_', ' ')} {value:g}")
    if setup.deadline_seconds is not None:
        said.append(f"answers within {time_left(setup.deadline_seconds)}, or {_late(setup)}")
    return said


def _late(setup: SeatSetup) -> str:
    if setup.takeover:
        return f"{setup.takeover} takes the turn"
    return "the other side wins" if setup.on_timeout == OnTimeout.FORFEIT else "the debate stops"
