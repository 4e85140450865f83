"""A flask-openapi3 blueprint with faster validation.

flask-openapi3 builds the JSON schema of every model at every request, which takes longer than a database read. So
headers, paths, queries and bodies are validated here instead.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, get_type_hints

from flask import Response, g
from flask.globals import request_ctx
from flask.json.provider import DefaultJSONProvider
from flask.typing import ResponseReturnValue
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from app.http.answers import ERRORS, NEEDS_TOKEN, ErrorAnswer, Responses, enveloped
from app.http.errors import invalid_request
from app.http.rules import RULES, Rules

Model = type[BaseModel] | None
View = Callable[..., Any]
_PARTS = ("query", "header", "body", "return")
"""Annotations of a view that are no parameters of the path."""
Envelope = Callable[[Any, Any, int], ResponseReturnValue]
"""Makes a response from the shape of an answer, the value that a view returned, and a status."""
PUBLIC: list[dict[str, list[str]]] = [{}]
"""For views that need no token. flask-openapi3 adds this to the blueprint's security."""


def operation_id(*, bp_name: str, name: str, **_: str) -> str:
    """`debates_create`: generated clients name their functions so."""
    return f"{bp_name}_{name}".strip("_")


def _path_model(route: str, parameters: dict[str, Any]) -> type[BaseModel]:
    """Errors name a parameter as the route does, in camel case in the solutions API."""
    named = {name: name if f"<{name}>" in route else to_camel(name) for name in parameters}
    fields: dict[str, Any] = {name: (kind, Field(alias=named[name])) for name, kind in parameters.items()}
    return create_model("Path", **fields)


class Blueprint(APIBlueprint):
    def __init__(
        self, *args: Any, envelope: Envelope = enveloped, error: type[BaseModel] = ErrorAnswer, **options: Any
    ):
        super().__init__(*args, operation_id_callback=operation_id, **options)
        self._envelope = envelope
        self._error = error

    def view(
        self,
        route: str,
        answer: type[BaseModel] | Responses,
        *statuses: int,
        extensions: dict[str, Any] | None = None,
        **rules: Any,
    ) -> Callable[[View], View]:
        """Registers a view. Its docstring is its summary; its parameters are those of the path, and `query`, `header`
        and `body`. What it returns becomes the `data` of `answer`, with the first of `statuses` (200 if none is given).
        `rules` are fields of `Rules`."""
        method, path = route.split()
        listed = statuses or (200,)
        own = {status: answer if status < 400 else self._error for status in listed}
        responses = answer if isinstance(answer, dict) else own

        def register(view: View) -> View:
            hints = get_type_hints(view, include_extras=True)
            in_path = {name: hints[name] for name in hints if name not in _PARTS}

            def answered(path: BaseModel | None = None, **given: Any) -> ResponseReturnValue:
                found = view(**dict(path or ()), **given)
                return found if isinstance(found, Response | tuple) else self._envelope(answer, found, listed[0])

            answered.__name__, answered.__doc__ = view.__name__, view.__doc__
            answered.__annotations__ = {name: hints[name] for name in _PARTS if name in hints and name != "return"}
            if in_path:
                answered.__annotations__["path"] = _path_model(path, in_path)
            kept = RULES[f"{self.name}.{view.__name__}"] = Rules(**rules)
            security = PUBLIC if kept.public else None
            add = getattr(self, method.lower())
            add(path, responses=responses, security=security, openapi_extensions=extensions)(answered)
            return view

        return register

    @staticmethod
    def create_view_func(
        func: View,
        header: Model,
        cookie: Model,
        path: Model,
        query: Model,
        form: Model,
        body: Model,
        *_others: Any,
        **_options: Any,
    ) -> View:
        if cookie or form:
            raise TypeError("cookies and forms are not validated here")

        @wraps(func)
        def checked(**in_path: str) -> ResponseReturnValue:
            given: dict[str, BaseModel] = {}
            try:
                if header:
                    names = [field.alias or name for name, field in header.model_fields.items()]
                    sent = request_ctx.request.headers
                    given["header"] = header.model_validate({name: sent[name] for name in names if name in sent})
                if path:
                    given["path"] = path.model_validate(in_path)
                if query:
                    given["query"] = query.model_validate(request_ctx.request.args.to_dict())
                if body:
                    # Parsed in app.http.hooks; None when the request has no body.
                    given["body"] = body.model_validate(g.get("body"))
            except ValidationError as problem:
                return invalid_request(problem)
            shown: ResponseReturnValue = func(**given)
            return shown

        return checked


def api_blueprint(name: str, description: str, tag: str | None = None) -> Blueprint:
    """A blueprint of the debate API. Its tag in the OpenAPI document is its name if none is given."""
    about = Tag(name=tag or name, description=description)
    return Blueprint(name, __name__, abp_tags=[about], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)


class FastJson(DefaultJSONProvider):
    """For `jsonify`: pydantic's encoder takes a fifth of the time of Python's."""

    def response(self, *args: Any, **kwargs: Any) -> Response:
        return Response(to_json(self._prepare_response_obj(args, kwargs)) + b"\n", mimetype=self.mimetype)
