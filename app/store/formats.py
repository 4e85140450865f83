"""Formats that users write. A name means its current version; debates keep the version of their creation."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.core.schedule_files import canonical, hash_of, of_canonical
from app.core.schedules import Schedule
from app.store.tables import debates, formats

NAME_LOCK = 0x5EB47E04
"""The class of the advisory locks of names."""


@dataclass(frozen=True, slots=True)
class Format:
    schedule: Schedule
    created_by: str


def lock(connection: Connection, name: str) -> None:
    """Until the end of the transaction, also where there is no row yet."""
    connection.execute(select(func.pg_advisory_xact_lock(NAME_LOCK, func.hashtext(name))))


def current(connection: Connection, name: str) -> Format | None:
    query = select(formats).where(formats.c.name == name, formats.c.is_current)
    row = connection.execute(query).one_or_none()
    return Format(of_canonical(row.schedule), row.created_by) if row else None


def all_current(connection: Connection) -> list[Schedule]:
    """By name."""
    query = select(formats.c.schedule).where(formats.c.is_current).order_by(formats.c.name)
    return [of_canonical(text) for text in connection.scalars(query)]


def named(connection: Connection, wanted: list[str]) -> dict[str, Schedule]:
    query = select(formats.c.schedule).where(formats.c.name.in_(wanted), formats.c.is_current)
    return {each.name: each for each in map(of_canonical, connection.scalars(query))}


def is_known(connection: Connection, name: str) -> bool:
    """Whether the name has or had a version: debates may use one that was deleted."""
    return bool(connection.scalar(select(select(formats.c.hash).where(formats.c.name == name).exists())))


def of_request(connection: Connection, name: str, created_by: str, client_request_id: str) -> Schedule | None:
    """What the name meant for the debate that this request has created before, even if it was deleted since."""
    query = (
        select(formats.c.schedule)
        .join(debates, debates.c.format_hash == formats.c.hash)
        .where(debates.c.created_by == created_by, debates.c.client_request_id == client_request_id)
        .where(formats.c.name == name)
    )
    text = connection.scalars(query).one_or_none()
    return of_canonical(text) if text else None


def make_current(connection: Connection, schedule: Schedule, created_by: str) -> None:
    """The caller has locked the name."""
    withdraw(connection, schedule.name)
    row = {"hash": hash_of(schedule), "name": schedule.name, "schedule": canonical(schedule), "created_by": created_by}
    again = {"is_current": True, "created_by": created_by}
    connection.execute(insert(formats).values(row).on_conflict_do_update(index_elements=["hash"], set_=again))


def withdraw(connection: Connection, name: str) -> None:
    """The name means nothing after this. Its versions stay, for the debates that use them."""
    connection.execute(update(formats).where(formats.c.name == name, formats.c.is_current).values(is_current=False))
