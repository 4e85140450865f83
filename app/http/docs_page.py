"""`/docs`: the OpenAPI document as a page, rendered here so that nothing is loaded from other hosts."""

import json
from functools import partial
from typing import Any

from flask import Response, make_response, render_template
from flask_openapi3 import OpenAPI

Json = dict[str, Any]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def register_docs_page(app: OpenAPI) -> None:
    def docs() -> Response:
        document = app.api_doc
        shapes = document["components"]["schemas"]
        groups: dict[str, list[tuple[str, str, Json]]] = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
        page = render_template(
            "docs.html",
            info=document["info"],
            groups=groups,
            shapes={name: shape for name, shape in sorted(shapes.items()) if "properties" in shape},
            type_of=_type,
            schema_of=_schema_of,
            fields_of=partial(_fields, shapes),
            example_of=partial(_example, shapes),
        )
        response = make_response(page)
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    app.add_url_rule("/docs", "docs_page", docs)


def _schema_of(part: Json) -> Json:
    """Of a body or a response."""
    contents: list[Json] = list(part.get("content", {}).values())
    schema: Json = contents[0].get("schema", {}) if contents else {}
    return schema


def _resolved(shapes: Json, schema: Json) -> Json:
    target: Json = shapes.get(_type(schema), {}) if "$ref" in schema else schema
    return target


def _fields(shapes: Json, schema: Json) -> list[Json]:
    """As OpenAPI describes parameters."""
    whole = _resolved(shapes, schema)
    required = whole.get("required", [])
    return [
        {"name": name, "schema": given, "required": name in required, "description": given.get("description", "")}
        for name, given in whole.get("properties", {}).items()
    ]


def _example(shapes: Json, body: Json) -> str:
    for example in _resolved(shapes, _schema_of(body)).get("examples") or []:
        return json.dumps(example, indent=2, ensure_ascii=False)
    return "".join(content.get("example", "") for content in body.get("content", {}).values())


def _type(schema: Json) -> str:
    """A readable type: 'string or null', 'list of DebateShape', 'proposer | opponent'."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(option) for option in schema[choice]))
    if "enum" in schema or "const" in schema:
        return " | ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "anything")
