"""A flask-openapi3 blueprint with faster validation.

flask-openapi3 builds the JSON schema of every model at every request, which takes longer than a database read. So
headers, paths, queries and bodies are validated here instead.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, g
from flask.globals import request_ctx
from flask.json.provider import DefaultJSONProvider
from flask.typing import ResponseReturnValue
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from app.http.answers import ERRORS, NEEDS_TOKEN
from app.http.errors import invalid_request

Model = type[BaseModel] | None
View = Callable[..., ResponseReturnValue]


def operation_id(*, bp_name: str, name: str, **_: str) -> str:
    """`debates_create`: generated clients name their functions so."""
    return f"{bp_name}_{name}".strip("_")


class Blueprint(APIBlueprint):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, operation_id_callback=operation_id, **options)

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
            return func(**given)

        return checked


def api_blueprint(name: str, description: str, tag: str | None = None) -> Blueprint:
    """Of the debate API. Its routes are documented under a tag, its own if none is given."""
    about = Tag(name=tag or name, description=description)
    return Blueprint(name, __name__, abp_tags=[about], abp_responses=ERRORS, abp_security=NEEDS_TOKEN)


class FastJson(DefaultJSONProvider):
    """For `jsonify`: pydantic's encoder takes a fifth of the time of Python's."""

    def response(self, *args: Any, **kwargs: Any) -> Response:
        return Response(to_json(self._prepare_response_obj(args, kwargs)) + b"\n", mimetype=self.mimetype)
