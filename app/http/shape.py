"""What every answer's shape for the OpenAPI document begins with."""

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


@cache
def _built_once(build: Callable[..., dict[str, Any]], *arguments: Any, **options: Any) -> dict[str, Any]:
    return build(*arguments, **options)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Built once: flask-openapi3 asks for it at every route that answers with this shape, eight times for errors
        alone, which was most of the time in which an API starts."""
        return _built_once(super().model_json_schema, *arguments, **options)

    @classmethod
    def of(cls, value: object) -> dict[str, Any]:
        """The JSON of a value whose attributes have the names of the fields."""
        return cls.model_validate(value, from_attributes=True).model_dump(mode="json", by_alias=True)


class DocumentedAs:
    """In an `Annotated` type of a request: the OpenAPI document has this shape, and a use case checks the value."""

    def __init__(self, shape: type[Shape]) -> None:
        self._shape = shape

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self._shape.__pydantic_core_schema__)
