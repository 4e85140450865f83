"""Answers as JSON."""

from typing import Any

from flask import Response
from flask.json.provider import DefaultJSONProvider
from pydantic_core import to_json


class FastJson(DefaultJSONProvider):
    """What `jsonify` uses: pydantic's own writer takes a fifth of the time of Python's."""

    def response(self, *args: Any, **kwargs: Any) -> Response:
        return Response(to_json(self._prepare_response_obj(args, kwargs)) + b"\n", mimetype=self.mimetype)
