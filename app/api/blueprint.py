"""Routes that the OpenAPI document describes and whose requests are checked.

flask-openapi3 describes them. Its own checks ask for the schema of every model at every request, and take longer than a
read of the database; those of what our routes have (a path, a query, a body) are made here.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import g
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from flask_openapi3 import APIBlueprint
from pydantic import BaseModel, ValidationError

from app.api.errors import invalid_request

Model = type[BaseModel] | None
View = Callable[..., ResponseReturnValue]


class Blueprint(APIBlueprint):
    @staticmethod
    def create_view_func(
        func: View,
        header: Model,
        cookie: Model,
        path: Model,
        query: Model,
        form: Model,
        body: Model,
        *others: Any,
        **options: Any,
    ) -> View:
        if header or cookie or form:
            view: View = APIBlueprint.create_view_func(
                func, header, cookie, path, query, form, body, *others, **options
            )
            return view

        @wraps(func)
        def checked(**in_path: str) -> ResponseReturnValue:
            given: dict[str, BaseModel] = {}
            try:
                if path:
                    given["path"] = path.model_validate(in_path)
                if query:
                    given["query"] = query.model_validate(request_ctx.request.args.to_dict())
                if body:
                    # As it was parsed before anything else; None when there is none.
                    given["body"] = body.model_validate(g.get("body"))
            except ValidationError as problem:
                return invalid_request(problem)
            return func(**given)

        return checked
