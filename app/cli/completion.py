"""What the shell offers after Tab: the words that an option takes, and what only the server knows.

Nobody asked for an error here, so whatever goes wrong offers nothing.
"""

import re
from typing import Any

from app.core.debate import State, Status
from app.core.players import EXTERNAL, LOCAL, SCRIPTED

ANSWER_SECONDS = 2.0
"""Whoever presses Tab waits for it."""
MOST_OFFERED = 50


def statuses() -> list[str]:
    return [status.value for status in Status]


def states() -> list[str]:
    return [state.value for state in State]


def players() -> list[str]:
    """Models are not offered: only their providers know them all."""
    return [SCRIPTED, LOCAL]


def seated() -> list[str]:
    return [EXTERNAL, *players()]


def debates() -> list[tuple[str, str]]:
    """Ids by last activity, with their titles, which zsh and fish show."""
    answer = _asked("/debates", limit=MOST_OFFERED)
    return [(debate["id"], _harmless(debate["title"])) for debate in answer["debates"]] if answer else []


def agents() -> list[tuple[str, str]]:
    answer = _asked("/api/v1/agents", limit=MOST_OFFERED)
    return [(agent["username"], _harmless(agent["displayName"] or "")) for agent in answer or []]


def flagged() -> list[tuple[str, str]]:
    answer = _asked("/api/v1/guardrail/evaluations", limit=MOST_OFFERED)
    return [(each["evaluation"]["id"], _harmless(each["contribution"]["content"])) for each in answer or []]


def _asked(path: str, **query: Any) -> Any:
    from app.cli.client import Api
    from app.cli.errors import CommandFailed
    from app.settings import SettingsError, load_settings

    try:
        return Api.of(load_settings()).get(path, ANSWER_SECONDS, **query)
    except (CommandFailed, SettingsError):
        return None


def _harmless(text: str) -> str:
    """Other people's words, which a shell will read as part of a script: letters, digits and blanks."""
    return " ".join(re.sub(r"[^\w ]", " ", text).split())[:60]
