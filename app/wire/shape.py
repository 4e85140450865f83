"""Shapes: what clients see of a value. One line declares a field; its JSON, the OpenAPI document, the schemas of MCP
and the columns of exports follow from it.

A field is the value's attribute of the same name, and its type says how it becomes JSON. `From`, `Made` and `As` in an
`Annotated` type say where the two differ. A field with a default is absent where it has that default.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Json = dict[str, Any]
Make = Callable[[Any], Any]


class From:
    """The field is another attribute: its path, None from where a part of it is None."""

    def __init__(self, path: str) -> None:
        self.path = path


class Made:
    """This makes the field's JSON from the whole value."""

    def __init__(self, make: Make) -> None:
        self.make = make


class As:
    """This makes the JSON of the attribute, which is not None."""

    def __init__(self, convert: Make) -> None:
        self.convert = convert


@cache
def _built_once(build: Callable[..., Json], *arguments: Any, **options: Any) -> Json:
    return build(*arguments, **options)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reader: ClassVar[Callable[[str], Make]] = attrgetter
    """Makes what reads an attribute by its name."""

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> Json:
        """Built once: flask-openapi3 asks for it at every route with this shape, eight times for errors
        alone, which was most of the time in which an API starts."""
        return _built_once(super().model_json_schema, *arguments, **options)

    @classmethod
    def of(cls, value: Any, **given: Any) -> Json:
        """The JSON of a value. `given` fields are not in the value, and are JSON already."""
        makers, optional = _compiled(cls)
        if given:
            shown = {key: given[name] if name in given else make(value) for name, key, make in makers}
        else:
            shown = {key: make(value) for _, key, make in makers}
        for key, default in optional:
            if shown[key] == default:
                del shown[key]
        return shown


class RowShape(Shape):
    # Of a row: a mapping with the names of the fields.
    reader: ClassVar[Callable[[str], Make]] = itemgetter


class DocumentedAs:
    """In an `Annotated` type of a request: the OpenAPI document has this shape, and a use case checks the value."""

    def __init__(self, shape: type[Shape]) -> None:
        self._shape = shape

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self._shape.__pydantic_core_schema__)


@cache
def _compiled(shape: type[Shape]) -> tuple[list[tuple[str, str, Make]], list[tuple[str, Any]]]:
    """Of each field the name, the name in JSON and what makes it; and the fields with a default."""
    fields = shape.model_fields
    keys = {name: field.serialization_alias or name for name, field in fields.items()}
    makers = [(name, keys[name], _maker(shape, name, field)) for name, field in fields.items()]
    return makers, [(keys[name], field.default) for name, field in fields.items() if not field.is_required()]


def _maker(shape: type[Shape], name: str, field: FieldInfo) -> Make:
    for about in field.metadata:
        if isinstance(about, Made):
            return about.make
    path = next((about.path for about in field.metadata if isinstance(about, From)), name)
    own = next((about.convert for about in field.metadata if isinstance(about, As)), None)
    kinds = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else (field.annotation,)
    convert = own or _converter(field.annotation)
    read = shape.reader(path) if "." not in path or NoneType not in kinds else _reader(path.split("."))
    if convert is None:
        return read
    if NoneType not in kinds:
        return lambda value: convert(read(value))

    def or_none(value: Any) -> Any:
        found = read(value)
        return None if found is None else convert(found)

    return or_none


def _reader(names: list[str]) -> Make:
    def read(value: Any) -> Any:
        for name in names:
            if value is None:
                return None
            value = getattr(value, name)
        return value

    return read


def _converter(kind: Any) -> Make | None:
    """What makes JSON of a value of this type that is not None; None where it is JSON already."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return next((about.convert for about in inner if isinstance(about, As)), None) or _converter(inner[0])
    if origin in (Union, UnionType):
        kinds = [each for each in inner if each is not NoneType]
        return _converter(kinds[0]) if len(kinds) == 1 else None
    if origin is Literal:
        return str if all(isinstance(each, str) for each in inner) else None
    if origin is list:
        convert = _converter(inner[0])
        return list if convert is None else lambda values: [convert(value) for value in values]
    if origin is dict:
        return _mapping_converter(_converter(inner[1]))
    if isinstance(kind, type) and issubclass(kind, Shape):
        return kind.of
    return str if isinstance(kind, type) and issubclass(kind, UUID | StrEnum) else None


def _mapping_converter(convert: Make | None) -> Make:
    def converted(values: Mapping[str, Any]) -> Json:
        return {name: convert(value) for name, value in values.items()} if convert else dict(values)

    return converted
