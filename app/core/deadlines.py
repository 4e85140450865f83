"""What happens to a debate when an external seat misses its deadline: it is stopped, or the other side wins. With a
takeover the debate continues (`Debate.floor`)."""

from app.core.debate import Debate, StopReason
from app.core.limits import close
from app.core.players import OnTimeout
from app.core.seats import Seat
from app.core.verdicts import SIDES, Verdict, VerdictScope

_WINNERS_SCORE, _LOSERS_SCORE = 10.0, 0.0
"""No judge gave them: a verdict has scores, the winner's are the higher ones, and the ends of the scale mislead least.
`stop_reason` tells such a verdict from a judge's, and it never counts in the standing."""


def after_deadline(debate: Debate) -> Debate:
    seat = debate.cursor.seat
    setup = debate.seats[seat]
    words = f"The {seat.role} did not answer within {setup.deadline_seconds:g} seconds"
    if setup.on_timeout == OnTimeout.FORFEIT and seat is not Seat.ARBITRATOR:
        return _forfeited(debate, seat, words)
    return close(debate, StopReason.TIME_LIMIT).evolve(stop_note=f"{words}.")


def _forfeited(debate: Debate, loser: Seat, words: str) -> Debate:
    [winner] = [side for side in SIDES if side != loser.role]
    reasons = f"{words} and forfeits the debate: the {winner} wins."
    scores = {winner: _WINNERS_SCORE, loser.role: _LOSERS_SCORE}
    verdict = Verdict(winner, scores, reasons, stop=True, scope=VerdictScope.DEBATE)
    return close(debate, StopReason.FORFEIT).evolve(verdict=verdict, stop_note=reasons)
