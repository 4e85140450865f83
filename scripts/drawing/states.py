"""The diagram and the tables of docs/states.md, from the machine's table and the formats' facts: every move is made, in
every format, and drawn as it led."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from uuid import UUID

from app.core.debate import Cursor, Debate, Limits, State, Status, TurnType
from app.core.machine import Move, decide
from app.core.players import EXTERNAL, SeatSetup
from app.core.schedules import BUILT_IN, Schedule
from app.core.seat_view import seat_view
from app.core.seats import Seat
from app.core.transitions import TRANSITIONS
from app.words.schedules import order_of_speech

_SEAT_OF = {State.AWAITING_PROPOSER: Seat.PROPOSER, State.AWAITING_OPPONENT: Seat.OPPONENT}
_ROUND, _LAST_ROUND = 2, 9

Held = tuple[str, str]
"""A move's name, and a description of where it leads."""


def diagram() -> str:
    beginnings = [(form, ("motion", str(_debate(form, Cursor(*form.first)).state))) for form in BUILT_IN.values()]
    lines = ["```mermaid", "stateDiagram-v2", *_arrows("[*]", beginnings, list(BUILT_IN.values()))]
    for state in TRANSITIONS:
        held = [(form, (label, str(after.state))) for form, label, after in _led(state)]
        lines += _arrows(state, held, [form for form in BUILT_IN.values() if is_reached(form, state)])
    return "\n".join([*lines, f"    {State.CLOSED} --> [*]", "```"])


def _arrows(source: str, held: Iterable[tuple[Schedule, Held]], reached_in: list[Schedule]) -> Iterator[str]:
    for (label, target), formats in _grouped(held).items():
        yield f"    {source} --> {target}: {label}{_named(formats, reached_in)}"


def formats() -> str:
    """What each format is, by its schedule: with its default number of rounds."""
    lines = ["| format | order of speech | the motion | cursor at the start |", "|---|---|---|---|"]
    for form in BUILT_IN.values():
        start = Cursor(*form.first)
        motion = "before the first round" if form.motion_round == 0 else "the proposer's first turn"
        order = order_of_speech(form, None if form.is_open_ended else form.default_rounds)
        lines.append(f"| `{form}` | {order} | {motion} | `({start.round}, {start.seat.actor})` |")
    return "\n".join(lines)


def moves() -> str:
    """Each move with its next cursor; the cursor before it is in round r."""
    lines = ["| move | in state | who may make it | next cursor |", "|---|---|---|---|"]
    for state in TRANSITIONS:
        reached_in = [form for form in BUILT_IN.values() if is_reached(form, state)]
        held = [(form, (label, _cursor_in_words(after))) for form, label, after in _led(state)]
        for (label, cursor), in_formats in _grouped(held).items():
            where = _named(in_formats, reached_in)
            lines.append(f"| {label} | `{state}` | {_who_may(label, state)} | {cursor}{where} |")
    return "\n".join(lines)


def _cursor_in_words(after: Debate) -> str:
    if after.is_closed:
        return "the end"
    ahead = after.cursor.round - (_ROUND if after.cursor.round < _LAST_ROUND else _LAST_ROUND)
    return f"`(r{f'+{ahead}' if ahead else ''}, {after.cursor.seat.actor})`"


def is_reached(form: Schedule, state: State) -> bool:
    """Whether a debate of this format can be in this state: only a seat that debates has the turn or is interrupted."""
    if state is State.INTERVENTION_PENDING:
        return form.has_rounds
    return state not in _SEAT_OF or _SEAT_OF[state] in form.debaters


def _grouped(held: Iterable[tuple[Schedule, Held]]) -> dict[Held, list[Schedule]]:
    formats: dict[Held, list[Schedule]] = defaultdict(list)
    for form, what in held:
        if form not in formats[what]:
            formats[what].append(form)
    return formats


def _named(formats: list[Schedule], reached_in: list[Schedule]) -> str:
    """Nothing where it holds in all formats that have the state."""
    others = [form for form in reached_in if form not in formats]
    if not others:
        return ""
    shorter, beginning = (others, "all but ") if len(others) < len(formats) else (formats, "")
    return f" ({beginning}{', '.join(map(str, shorter))})"


def _led(state: State) -> Iterator[tuple[Schedule, str, Debate]]:
    """(format, what the move is called, the debate after it) of every move of this state."""
    for seat, kind in TRANSITIONS[state]:
        for close in (False, True) if kind is TurnType.RULING else (False,):
            for form in BUILT_IN.values():
                if is_reached(form, state):
                    yield from ((form, *led) for led in _led_in(form, state, Move(seat, kind, "", close=close)))


def _led_in(form: Schedule, state: State, move: Move) -> Iterator[tuple[str, Debate]]:
    """Before the last round, and in it where that leads elsewhere."""
    label = f"{move.type.lower()}{' with close' if move.close else ''} by the {move.seat.role}"
    for interrupted in form.debaters if state is State.INTERVENTION_PENDING else (None,):
        ordinary, last = (_after(form, state, move, interrupted, round_) for round_ in (_ROUND, _LAST_ROUND))
        goes_back = ordinary is not None and not ordinary.is_closed and ordinary.cursor.round == _ROUND
        said = f"{label}, {interrupted.role} interrupted" if interrupted and goes_back else label
        if ordinary:
            yield said, ordinary
        if last and (ordinary is None or last.state is not ordinary.state):
            yield f"{said}, last round", last


def _after(form: Schedule, state: State, move: Move, interrupted: Seat | None, round_: int) -> Debate | None:
    """None where the format has no such move."""
    debate = _debate(form, Cursor(round_, _SEAT_OF.get(state, Seat.ARBITRATOR)))
    debate = debate.evolve(intervention_open=state is State.INTERVENTION_PENDING, interrupted=interrupted)
    return decide(debate, move).debate if move.type in seat_view(debate, move.seat).moves else None


def _who_may(label: str, state: State) -> str:
    if label.startswith(TurnType.INTERVENTION.lower()) or state is State.INTERVENTION_PENDING:
        return "a person"
    return "who fills the seat, or a person" if state is State.AWAITING_ARBITRATOR else "who fills the seat"


def _debate(form: Schedule, cursor: Cursor) -> Debate:
    seats = {seat: SeatSetup(EXTERNAL) for seat in Seat}
    limits = Limits(max_rounds=_LAST_ROUND if form.has_rounds else None)
    return Debate(
        id=UUID(int=0),
        title="",
        debate_type="",
        schedule=form,
        status=Status.RUNNING,
        cursor=cursor,
        seats=seats,
        limits=limits,
    )
