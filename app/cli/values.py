"""Parts of the API's JSON as values of the core, and the end of a debate."""

from app.cli.output import Json, clean
from app.core.debate import State, Status, StopReason
from app.core.verdicts import Verdict, VerdictScope
from app.words import debates, verdicts


def verdict_of(shown: Json) -> Verdict:
    scope = VerdictScope(shown["scope"])
    return Verdict(shown["winner"], shown["scores"], shown["reasoning"], orders=shown.get("orders"), scope=scope)


def judged(ruling: Json) -> str:
    return verdicts.ruling(verdict_of(ruling["verdict"]), ruling["round"])


def has_ended(debate: Json) -> bool:
    return bool(debate["state"] == State.CLOSED or debate["status"] == Status.FAILED)


def ending(debate: Json) -> str:
    if debate["status"] == Status.FAILED:
        return f"The debate failed: {clean(debate['last_error'] or 'no reason was recorded')}"
    reason, is_late = debate["stop_reason"], debate["missed_deadline"]
    who = f" {clean(debate['stop_note'])}" if reason == StopReason.TIME_LIMIT and is_late else ""
    how = debates.ending(debate["status"], reason, is_late, debate["imported"])
    return f"The debate is {how}.{who}"
