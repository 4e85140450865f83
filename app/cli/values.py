"""What the API shows of a debate, as values of the core, and how the debate ended."""

from app.cli.output import Json, clean
from app.core.debate import State, Status, is_held_elsewhere, missed_deadline
from app.core.verdicts import Verdict, VerdictScope
from app.words import debates, verdicts


def verdict_of(shown: Json) -> Verdict:
    # A server of the version before says no scope: every verdict of its rulings judged the round.
    scope = VerdictScope(shown.get("scope") or VerdictScope.ROUND)
    reasons = shown.get("reasoning") or ""
    return Verdict(shown["winner"], shown["scores"], reasons, orders=shown.get("orders"), scope=scope)


def judged(ruling: Json) -> str:
    return verdicts.ruling(verdict_of(ruling["verdict"]), ruling["round"])


def has_ended(debate: Json) -> bool:
    return bool(debate["state"] == State.CLOSED or debate["status"] == Status.FAILED)


def ending(debate: Json) -> str:
    if debate["status"] == Status.FAILED:
        return f"The debate failed: {clean(debate['last_error'] or 'no reason was recorded')}"
    reason, note = debate["stop_reason"], debate.get("stop_note") or ""
    who = f" {clean(note)}" if missed_deadline(reason, note) else ""
    how = debates.ending(debate["status"], reason, note, is_held_elsewhere(reason, debate["argument_count"]))
    return f"The debate is {how}.{who}"
