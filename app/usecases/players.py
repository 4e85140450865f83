"""What can fill a seat, and what the others lack.

Only workers call models, with their own environment: each reports with its lease what it could call.
"""

import importlib.util
from collections.abc import Mapping, Sequence

from app.core.players import EXTERNAL, LOCAL, SCRIPTED
from app.core.providers import PROVIDERS, PlayerChoice
from app.models.local import is_installed as local_is_installed
from app.models.table import models_of
from app.settings import Settings, variable
from app.store import leases
from app.usecases.services import Services
from app.words.providers import missing

NO_WORKER = "no worker is running, so nobody can say"
_NOT_NAMED = "no live worker has it in DEBATE_ENDPOINTS"
Lacks = Mapping[str, list[str]]
"""Provider, endpoint or `local` → what a worker lacks for it; nothing if it is ready."""


def usable_here(settings: Settings) -> dict[str, list[str]]:
    found = {name: missing(name, lambda key: variable(key) is not None, _is_installed) for name in PROVIDERS}
    found[LOCAL] = [] if local_is_installed() else ["not installed: `debate doctor --player local` installs it"]
    return {**{name: [] for name in settings.endpoint_urls}, **found}


def list_players(services: Services) -> tuple[int, list[PlayerChoice]]:
    with services.engine.statements() as connection:
        reports = leases.reported_players(connection)
    return len(reports), choices(services.settings, _together(reports))


def choices(settings: Settings, lacks: Lacks | None) -> list[PlayerChoice]:
    always = [PlayerChoice(name, name, True, ()) for name in (EXTERNAL, SCRIPTED)]
    others = [LOCAL, *settings.endpoint_urls, *PROVIDERS]
    return always + [_choice(name, [NO_WORKER] if lacks is None else lacks.get(name, [_NOT_NAMED])) for name in others]


def _choice(name: str, lacks: list[str]) -> PlayerChoice:
    if name == LOCAL:
        return PlayerChoice(name, name, not lacks, tuple(lacks))
    models = tuple(f"{name}:{model}" for model in models_of(name)) if name in PROVIDERS and not lacks else ()
    return PlayerChoice(name, f"{name}:<model>", not lacks, tuple(lacks), models)


def _together(reports: Sequence[Lacks]) -> Lacks | None:
    """The server can call what at least one worker can. Otherwise it reports what the best-equipped worker lacks."""
    together: dict[str, list[str]] = {}
    for report in reports:
        for name, lacks in report.items():
            if name not in together or len(lacks) < len(together[name]):
                together[name] = list(lacks)
    return together or None


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        # Of a package inside a package that is not there either.
        return False
