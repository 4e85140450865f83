"""`/docs`: the OpenAPI document as a page, rendered here so that nothing is loaded from other hosts."""

import json
from dataclasses import dataclass
from typing import Any

from flask import Response, make_response, render_template
from flask_openapi3 import OpenAPI

Json = dict[str, Any]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    summary: str
    parameters: list[Field]
    body: list[Field]
    body_in_words: str
    """The schema of a body that is not a JSON object."""
    example: str
    answers: list[tuple[str, str]]
    """(status, name of the shape)"""

    @property
    def anchor(self) -> str:
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "")


def register_docs_page(app: OpenAPI) -> None:
    def docs() -> Response:
        document = app.api_doc
        shapes = document["components"]["schemas"]
        page = render_template(
            "docs.html",
            title=document["info"]["title"],
            version=document["info"]["version"],
            groups=_operations(document),
            shapes={name: _fields(shape, shapes) for name, shape in sorted(shapes.items()) if "properties" in shape},
        )
        response = make_response(page)
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    app.add_url_rule("/docs", "docs_page", docs)


def _operations(document: Json) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = (operation.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_operation(method, path, operation, document["components"]["schemas"]))
    return groups


def _operation(method: str, path: str, operation: Json, shapes: Json) -> Operation:
    asked = operation.get("requestBody", {})
    resolved = _resolved(_schema_of(asked), shapes)
    return Operation(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        parameters=[
            Field(given["name"], _type(given["schema"]), given.get("required", False), given.get("description", ""))
            for given in operation.get("parameters", [])
        ],
        body=_fields(resolved, shapes),
        body_in_words=asked.get("description", ""),
        example=_example_of(asked, resolved),
        answers=[(status, _type(_schema_of(answer))) for status, answer in sorted(operation["responses"].items())],
    )


def _example_of(body: Json, schema: Json) -> str:
    for example in schema.get("examples") or []:
        return json.dumps(example, indent=2, ensure_ascii=False)
    return "".join(content.get("example", "") for content in body.get("content", {}).values())


def _schema_of(part: Json) -> Json:
    contents: list[Json] = list(part.get("content", {}).values())
    schema: Json = contents[0].get("schema", {}) if contents else {}
    return schema


def _fields(schema: Json, shapes: Json) -> list[Field]:
    required = set(schema.get("required", []))
    return [
        Field(name, _type(given), name in required, given.get("description", ""))
        for name, given in _resolved(schema, shapes).get("properties", {}).items()
    ]


def _resolved(schema: Json, shapes: Json) -> Json:
    target: Json = shapes.get(_reference(schema), {}) if "$ref" in schema else schema
    return target


def _reference(schema: Json) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[-1]


def _type(schema: Json) -> str:
    """In words: 'string or null', 'list of DebateShape', 'proposer | opponent'."""
    if "$ref" in schema:
        return _reference(schema)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(option) for option in schema[choice]))
    if "enum" in schema or "const" in schema:
        return " | ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "anything")
