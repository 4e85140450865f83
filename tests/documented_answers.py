"""Compares each response of a test's API with /openapi.json: a text where the document has a number fails the test."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

_document: dict[str, Any] = {}
"""The same for every API of a checkout: the first one that a test process starts is asked."""


def learn_from(http: httpx.Client) -> None:
    if not _document:
        _document.update(http.get("/openapi.json").json())


def check(response: httpx.Response) -> None:
    """For httpx' event hooks. Responses that are no JSON, or that the document does not name, pass."""
    if response.headers.get("Content-Type") != "application/json" or not _document:
        return
    request = response.request
    checked = _check_of(request.method.lower(), _path_of(request.url.path), str(response.status_code))
    if checked is None:
        return
    response.read()
    try:
        checked(json.loads(response.content))
    except jsonschema_rs.ValidationError as problem:
        place = ".".join(str(part) for part in problem.instance_path)
        raise AssertionError(f"{request.method} {request.url.path}: {place}: {problem.message}") from None


def _path_of(path: str) -> str | None:
    """As the document writes it. A path without parameters comes first: /experiments/plan is no experiment's id."""
    if path in _document["paths"]:
        return path
    return next((template for pattern, template in _patterns() if pattern.fullmatch(path)), None)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in _document["paths"]]


@cache
def _check_of(method: str, path: str | None, status: str) -> Callable[[Any], None] | None:
    described = _document["paths"].get(path, {}).get(method, {}).get("responses", {}).get(status, {})
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    if not schema:
        return None
    return jsonschema_rs.Draft202012Validator({**schema, "components": _document["components"]}).validate
