"""Shell completion: values of options, and ids and names from the server. An error gives no completions."""

import re
from typing import Any

from app.core.debate import State, Status
from app.core.players import EXTERNAL, LOCAL, SCRIPTED
from app.core.schedules import BUILT_IN

ANSWER_SECONDS = 2.0
"""Short, because the user waits after pressing Tab."""
MAX_OFFERED = 50


def statuses() -> list[str]:
    return [status.value for status in Status]


def states() -> list[str]:
    return [state.value for state in State]


def formats() -> list[str]:
    return list(BUILT_IN)


def players() -> list[str]:
    """Without models: only their providers know all of them."""
    return [SCRIPTED, LOCAL]


def seated() -> list[str]:
    return [EXTERNAL, *players()]


def debates() -> list[tuple[str, str]]:
    """The most recently active, with their titles, which zsh and fish show."""
    answer = _get("/debates", limit=MAX_OFFERED)
    return [(debate["id"], _harmless(debate["title"])) for debate in answer["debates"]] if answer else []


def agents() -> list[tuple[str, str]]:
    answer = _get("/api/v1/agents", limit=MAX_OFFERED)
    return [(agent["username"], _harmless(agent["displayName"] or "")) for agent in answer or []]


def flagged() -> list[tuple[str, str]]:
    answer = _get("/api/v1/guardrail/evaluations", limit=MAX_OFFERED)
    return [(each["evaluation"]["id"], _harmless(each["contribution"]["content"])) for each in answer or []]


def _get(path: str, **query: Any) -> Any:
    from app.cli.client import Api
    from app.cli.errors import CommandFailed
    from app.cli.options import with_server
    from app.settings import SettingsError, load_settings

    try:
        return Api.of(with_server(load_settings())).get(path, ANSWER_SECONDS, **query)
    except (CommandFailed, SettingsError):
        return None


def _harmless(text: str) -> str:
    """Only letters, digits and blanks: the shell reads this text as part of a script."""
    return " ".join(re.sub(r"[^\w ]", " ", text).split())[:60]
