"""Formats that users write: added, listed, deleted, and looked up by what names them."""

from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from app.core.access import Action, Caller, holder_id, is_owner, require
from app.core.errors import Forbidden, InvalidInput, NotFound, or_raise
from app.core.schedule_files import is_name, read_schedule
from app.core.schedules import BUILT_IN, Schedule
from app.store import formats
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)


@repeated_on_conflict
def add_format(services: Services, caller: Caller, given: Mapping[str, Any]) -> tuple[Schedule, bool]:
    """Whether it is new: the name meant nothing, or something else."""
    require(caller, Action.CREATE)
    schedule = services.run_aside(lambda: read_schedule(given))
    with transaction(services, caller) as connection:
        formats.lock(connection, schedule.name)
        found = formats.current(connection, schedule.name)
        if found and found.schedule == schedule:
            return schedule, False
        if found:
            _require_owner(caller, found.created_by, "replace")
        formats.make_current(connection, schedule, found.created_by if found else holder_id(caller))
    log.info("format.added", format=schedule.name, by=caller.name)
    return schedule, True


@repeated_on_conflict
def delete_format(services: Services, caller: Caller, name: str) -> None:
    require(caller, Action.CREATE)
    if name in BUILT_IN:
        raise InvalidInput("name", f"{name!r} is a built-in format, which cannot be deleted")
    with transaction(services, caller) as connection:
        formats.lock(connection, name)
        found = or_raise(formats.current(connection, name), _unknown(name))
        _require_owner(caller, found.created_by, "delete")
        formats.withdraw(connection, name)
    log.info("format.deleted", format=name, by=caller.name)


def list_formats(services: Services) -> list[Schedule]:
    """The built-in ones first."""
    with services.engine.statements() as connection:
        return [*BUILT_IN.values(), *formats.all_current(connection)]


def get_format(services: Services, name: str) -> Schedule:
    return or_raise(named(services, [name]).get(name), _unknown(name))


def named(services: Services, names: Iterable[str]) -> Mapping[str, Schedule]:
    """What these names mean now, and all built-in formats. Unknown names are left out."""
    custom = [name for name in names if name not in BUILT_IN and is_name(name)]
    if not custom:
        return BUILT_IN
    with services.engine.statements() as connection:
        return {**BUILT_IN, **formats.named(connection, custom)}


def require_known(services: Services, name: str | None) -> None:
    """Refuses to search for a format that never existed."""
    if name is None or name in BUILT_IN:
        return
    with services.engine.statements() as connection:
        if not (is_name(name) and formats.is_known(connection, name)):
            raise _no_format(name)


def schedule_for(services: Services, caller: Caller, name: str, client_request_id: str) -> Schedule:
    """For a debate: what the name meant when this request was sent for the first time, or what it means now."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if not is_name(name):
        raise _no_format(name)
    with services.engine.statements() as connection:
        before = formats.of_request(connection, name, holder_id(caller), client_request_id)
    found = before or named(services, [name]).get(name)
    return or_raise(found, _no_format(name))


def _no_format(name: str) -> InvalidInput:
    return InvalidInput("format", f"there is no format {name!r}; GET /formats lists them")


def _require_owner(caller: Caller, owner: str, to_do: str) -> None:
    if not is_owner(caller, owner):
        raise Forbidden(f"Only this format's owner and the operator may {to_do} it", suggestion="Choose another name")


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no format {name!r}", suggestion="`debate formats` lists them")
