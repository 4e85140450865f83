"""A fork: a new debate that begins with the turns of another one, up to one of them, and has other players after it."""

from collections.abc import Mapping, Sequence

from app.core.debate import Debate, Limits, Origin, Status, StopReason, Turn, TurnType
from app.core.errors import InvalidInput
from app.core.machine import implied_cursor
from app.core.players import SeatSetup
from app.core.schedules import Round
from app.core.seats import Seat
from app.core.verdicts import Standing, VerdictScope, standing_after


def fork(source: Debate, copied: Sequence[Turn], seats: Mapping[Seat, SeatSetup], limits: Limits) -> Debate:
    """The debate after the copied turns, which are all of the source's up to one of them. Nothing is spent in it yet:
    what the copied turns have cost stays with the source."""
    last = copied[-1]
    implied = implied_cursor(source.schedule, limits.max_rounds, copied)
    if implied is None or _closed_by(source, last):
        raise InvalidInput("after_seq", f"turn {last.seq} closed the debate: fork it after an earlier turn")
    cursor, interrupted = implied
    if limits.max_rounds is not None and cursor.round > limits.max_rounds:
        raise InvalidInput(
            "limits.max_rounds", f"all {limits.max_rounds} rounds were finished by turn {last.seq}: allow more rounds"
        )
    spoken = {turn.seat for turn in copied if turn.round == cursor.round}
    begins_again = spoken & _left(source.schedule.round(cursor.round, limits.max_rounds), cursor.seat)
    if begins_again and source.imported:
        raise InvalidInput(
            "after_seq",
            f"the imported turns do not fit the format {source.schedule.name}: after turn {last.seq} it would ask for a"
            f" second turn of the {cursor.seat.role} in round {cursor.round}. Fork it after another turn",
        )
    if begins_again:
        raise InvalidInput("limits.max_rounds", f"round {cursor.round} would begin again: keep the number of rounds")
    return Debate(
        id=source.id,
        title=source.title,
        debate_type=source.debate_type,
        schedule=source.schedule,
        status=Status.CREATED,
        cursor=cursor,
        seats=seats,
        limits=limits,
        intervention_open=interrupted is not None,
        interrupted=interrupted,
        turn_count=last.seq,
        standing=_standing(copied),
        language=source.language,
        prompts=source.prompts,
        prompts_hash=source.prompts_hash,
        forked_from=Origin(source.id, last.seq),
        material=source.material,
        tags=source.tags,
    )


def _left(this: Round, seat: Seat) -> set[Seat]:
    """Who has the turn in this round from this seat's step on."""
    seats = [step.seat for step in this.steps]
    return set(seats[seats.index(seat) :] if seat in seats else [seat])


_BY_RULINGS = frozenset({StopReason.MAX_ROUNDS, StopReason.JUDGE_EARLY_STOP, StopReason.RULING, StopReason.RESOLUTION})


def _closed_by(source: Debate, last: Turn) -> bool:
    """Not where a client stopped the debate, or a limit ended it, after a ruling on a round."""
    if not source.is_closed or last.type is not TurnType.RULING or last.seq != source.turn_count:
        return False
    judges_the_debate = last.verdict is not None and last.verdict.scope is VerdictScope.DEBATE
    return judges_the_debate or source.stop_reason in _BY_RULINGS


def _standing(copied: Sequence[Turn]) -> Standing | None:
    standing: Standing | None = None
    for turn in copied:
        if turn.verdict is not None and turn.round is not None:
            standing = standing_after(standing, turn.verdict.scores)
    return standing
