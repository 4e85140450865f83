"""Rows and values. The fields of a value and their types say how it is read from a row and written to one; what differs
between a field and its columns is said once, in its `Mapped`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

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
    """A field in these columns: it is read from the value of each, and written as a value for each."""

    columns: tuple[str, ...]
    read: Callable[..., Any]
    write: Callable[[Any], tuple[Any, ...]]


class Mapped(Generic[Value]):
    """The rows of a value. A field is the column of its name. `parts` has the fields with another column; those with
    several, which hold the fields of a value (None where the first is NULL); and those that are `Stored` otherwise.
    `derived` has columns that are only written, each with what makes it from the whole value."""

    def __init__(
        self,
        kind: type[Value],
        derived: Mapping[str, Callable[[Value], Any]] | None = None,
        **parts: str | tuple[str, ...] | Stored,
    ) -> None:
        hints = get_type_hints(kind)
        made: Any = kind
        self._kind = made
        self._derived = dict(derived or {})
        self._fields = {name: _stored(hints[name], parts.pop(name, name)) for name in made.__dataclass_fields__}
        if parts:
            raise TypeError(f"a {kind.__name__} has no {', '.join(parts)}")
        same = {name: each.columns[0] for name, each in self._fields.items() if each.read is _same}
        self._same = tuple(same)
        self._same_values = _many(itemgetter, list(same.values()))
        self._other = [
            (name, _many(itemgetter, each.columns), each.read)
            for name, each in self._fields.items()
            if name not in same
        ]

    @property
    def columns(self) -> list[str]:
        """From which a value is read."""
        return [column for each in self._fields.values() for column in each.columns]

    @property
    def written(self) -> list[str]:
        return [*self.columns, *self._derived]

    def value(self, row: Row) -> Value:
        made = dict(zip(self._same, self._same_values(row), strict=True))
        for name, values, read in self._other:
            made[name] = read(*values(row))
        if not issubclass(self._kind, Evolving):
            value: Value = self._kind(**made)
            return value
        # As `evolve` does: `__init__` takes several times as long.
        value = object.__new__(self._kind)
        value.__dict__.update(made)
        return value

    def writer(self, columns: Collection[str]) -> Callable[[Value], dict[str, Any]]:
        """What makes the values of these columns."""
        if unknown := set(columns) - set(self.written):
            raise TypeError(f"of a {self._kind.__name__} nothing is written to {', '.join(sorted(unknown))}")
        fields = {name: each for name, each in self._fields.items() if not set(columns).isdisjoint(each.columns)}
        same = {each.columns[0]: name for name, each in fields.items() if each.read is _same}
        read_same = _many(attrgetter, list(same.values()))
        other = [(attrgetter(name), each) for name, each in fields.items() if each.read is not _same]
        derived = {name: derive for name, derive in self._derived.items() if name in columns}

        def row(value: Value) -> dict[str, Any]:
            made = dict(zip(same, read_same(value), strict=True))
            for read, each in other:
                made.update(zip(each.columns, each.write(read(value)), strict=True))
            for name, derive in derived.items():
                made[name] = derive(value)
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


def _stored(hint: Any, part: str | tuple[str, ...] | Stored) -> Stored:
    if isinstance(part, Stored):
        return part
    kind, may_be_none = _without_none(hint)
    if isinstance(part, str):
        read, write = _IN_COLUMNS.get(kind) or json_codec(kind)
        if read is _same:
            return Stored((part,), _same, lambda value: (value,))
        return Stored((part,), _or_none(read), lambda value: (None if value is None else write(value),))
    names = list(kind.__dataclass_fields__)[: len(part)]
    hints = get_type_hints(kind)
    inner = [_stored(hints[name], column) for name, column in zip(names, part, strict=True)]
    values = attrgetter(*names)

    def read_all(*given: Any) -> Any:
        if may_be_none and given[0] is None:
            return None
        return kind(*(each.read(one) for each, one in zip(inner, given, strict=True)))

    def write_all(value: Any) -> tuple[Any, ...]:
        if value is None:
            return (None,) * len(part)
        return tuple(each.write(one)[0] for each, one in zip(inner, values(value), strict=True))

    return Stored(part, read_all, write_all)


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


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _without_none(hint: Any) -> tuple[Any, bool]:
    kinds = get_args(hint)
    if get_origin(hint) not in (Union, UnionType) or NoneType not in kinds:
        return hint, False
    return next(each for each in kinds if each is not NoneType), True
