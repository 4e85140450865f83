"""Rows and values: a value's fields and their types determine how it is read from a row and written to one."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import Connection, Executable
from sqlalchemy.engine import RowMapping

from app.core.debate import Evolving
from app.core.players import SeatSetup
from app.core.seats import Seat

Row = RowMapping | Mapping[str, Any]
Value = TypeVar("Value")
Convert = Callable[[Any], Any]
Codec = tuple[Convert, Convert]
"""Reads what is stored, and writes it. Neither is given None."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A field in one column. Neither `read` nor `write` is given None."""

    column: str
    read: Convert
    write: Convert


@dataclass(frozen=True, slots=True)
class Several:
    """A field in several columns: `read` from the value of each, and written as a value for each."""

    columns: tuple[str, ...]
    read: Callable[..., Any]
    write: Callable[[Any], tuple[Any, ...]]


class Mapped(Generic[Value]):
    """The rows of a value. A field is the column of its name, unless `parts` names another column or several, which
    have the fields of a value (None where the first is NULL). `derived` columns are only written."""

    def __init__(
        self,
        kind: type[Value],
        derived: Mapping[str, Callable[[Value], Any]] | None = None,
        **parts: str | tuple[str, ...] | Stored | Several,
    ) -> None:
        hints = get_type_hints(kind)
        made: Any = kind
        self._kind = made
        self._derived = dict(derived or {})
        stored = {name: _stored(hints[name], parts.pop(name, name)) for name in made.__dataclass_fields__}
        if parts:
            raise TypeError(f"a {kind.__name__} has no {', '.join(parts)}")
        self._single = {name: each for name, each in stored.items() if isinstance(each, Stored)}
        self._several = {name: each for name, each in stored.items() if isinstance(each, Several)}
        self._fields = list(self._single)
        self._values = _many(itemgetter, [each.column for each in self._single.values()])
        self._read = [(name, each.read) for name, each in self._single.items() if each.read is not _same]
        self._composed = [(name, _many(itemgetter, each.columns), each.read) for name, each in self._several.items()]

    @property
    def columns(self) -> list[str]:
        """From which a value is read."""
        several = (column for each in self._several.values() for column in each.columns)
        return [*(each.column for each in self._single.values()), *several]

    @property
    def written(self) -> list[str]:
        return [*self.columns, *self._derived]

    def value(self, row: Row) -> Value:
        made = dict(zip(self._fields, self._values(row), strict=True))
        for name, read in self._read:
            given = made[name]
            if given is not None:
                made[name] = read(given)
        for name, values, read in self._composed:
            made[name] = read(*values(row))
        if not issubclass(self._kind, Evolving):
            value: Value = self._kind(**made)
            return value
        # As `evolve` does: `__init__` takes several times as long.
        value = object.__new__(self._kind)
        value.__dict__.update(made)
        return value

    def one_or_none(
        self, connection: Connection, query: Executable, given: Mapping[str, Any] | None = None
    ) -> Value | None:
        row = connection.execute(query, given).mappings().one_or_none()
        return self.value(row) if row else None

    def all(self, connection: Connection, query: Executable, given: Mapping[str, Any] | None = None) -> list[Value]:
        return [self.value(row) for row in connection.execute(query, given).mappings()]

    def writer(self, columns: Collection[str]) -> Callable[[Value], dict[str, Any]]:
        """What makes the values of these columns."""
        if unknown := set(columns) - set(self.written):
            raise TypeError(f"of a {self._kind.__name__} nothing is written to {', '.join(sorted(unknown))}")
        single = {each.column: (name, each.write) for name, each in self._single.items() if each.column in columns}
        values = _many(attrgetter, [name for name, _ in single.values()])
        converted = [(column, write) for column, (_, write) in single.items() if write is not _same]
        several = [
            (
                attrgetter(name),
                [(at, column) for at, column in enumerate(each.columns) if column in columns],
                each.write,
            )
            for name, each in self._several.items()
            if not set(columns).isdisjoint(each.columns)
        ]
        derived = [(column, derive) for column, derive in self._derived.items() if column in columns]

        def row(value: Value) -> dict[str, Any]:
            made = dict(zip(single, values(value), strict=True))
            for column, write in converted:
                given = made[column]
                if given is not None:
                    made[column] = write(given)
            for get, places, write_all in several:
                written = write_all(get(value))
                made.update((column, written[at]) for at, column in places)
            for column, derive in derived:
                made[column] = derive(value)
            return made

        return row


def _many(getter: Callable[..., Any], names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """An itemgetter or attrgetter that gives a tuple however many names there are."""
    if len(names) > 1:
        found: Callable[[Any], tuple[Any, ...]] = getter(*names)
        return found
    getters = [getter(name) for name in names]
    return lambda value: tuple(get(value) for get in getters)


def _same(value: Any) -> Any:
    return value


_SAME: Codec = (_same, _same)
_IN_COLUMNS: dict[Any, Codec] = {Seat: (Seat.of_actor, attrgetter("actor"))}
"""Within JSON a seat is its role."""
_CODECS: dict[Any, Codec] = {SeatSetup: (SeatSetup.of_json, SeatSetup.as_json)}


def _stored(hint: Any, part: str | tuple[str, ...] | Stored | Several) -> Stored | Several:
    if isinstance(part, Stored | Several):
        return part
    kind, may_be_none = _without_none(hint)
    if isinstance(part, str):
        return Stored(part, *(_IN_COLUMNS.get(kind) or json_codec(kind)))
    names = list(kind.__dataclass_fields__)[: len(part)]
    hints = get_type_hints(kind)
    codecs = [_IN_COLUMNS.get(hints[name]) or json_codec(hints[name]) for name in names]
    reads = [(place, read) for place, (read, _) in enumerate(codecs) if read is not _same]
    writes = [(place, write) for place, (_, write) in enumerate(codecs) if write is not _same]
    values, nothing = attrgetter(*names), (None,) * len(part)

    def read_all(*given: Any) -> Any:
        if may_be_none and given[0] is None:
            return None
        return kind(*_converted(given, reads) if reads else given)

    def write_all(value: Any) -> tuple[Any, ...]:
        if value is None:
            return nothing
        found: tuple[Any, ...] = values(value)
        return tuple(_converted(found, writes)) if writes else found

    return Several(part, read_all, write_all)


def _converted(values: Iterable[Any], places: Iterable[tuple[int, Convert]]) -> list[Any]:
    made = list(values)
    for place, convert in places:
        if made[place] is not None:
            made[place] = convert(made[place])
    return made


def json_codec(hint: Any) -> Codec:
    """Of a value in one column: JSON, an array, or a plain value."""
    kind, _ = _without_none(hint)
    if kind in _CODECS:
        return _CODECS[kind]
    origin = get_origin(kind)
    if origin is tuple:
        read, write = json_codec(get_args(kind)[0])
        if read is _same:
            return tuple, list
        return lambda values: tuple(map(read, values)), lambda values: list(map(write, values))
    if origin is not None and issubclass(origin, Mapping):
        return _same, dict
    if not isinstance(kind, type):
        return _SAME
    if issubclass(kind, StrEnum):
        return kind, attrgetter("value")
    return _object_codec(kind) if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields") else _SAME


def _object_codec(kind: Any) -> Codec:
    """Of an object with the value's fields. One that is None is absent."""
    codecs = {name: json_codec(hint) for name, hint in get_type_hints(kind).items()}
    reads = {name: read for name, (read, _) in codecs.items() if read is not _same}
    writes = [(name, attrgetter(name), write) for name, (_, write) in codecs.items()]

    def read_object(given: Row) -> Any:
        read = {name: convert(given[name]) for name, convert in reads.items() if given.get(name) is not None}
        return kind(**{**given, **read})

    def write_object(value: Any) -> dict[str, Any]:
        found = ((name, get(value), write) for name, get, write in writes)
        return {name: write(one) for name, one, write in found if one is not None}

    return read_object, write_object


def _without_none(hint: Any) -> tuple[Any, bool]:
    kinds = get_args(hint)
    if get_origin(hint) not in (Union, UnionType) or NoneType not in kinds:
        return hint, False
    return next(each for each in kinds if each is not NoneType), True
