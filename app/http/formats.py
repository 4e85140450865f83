"""Formats: the built-in ones, and those that users write."""

from flask import Response

from app.core.access import Action
from app.core.schedule_files import MOST_BYTES
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import DeletedAnswer, FormatShape, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import formats
from app.usecases.services import Services


def formats_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("formats", "Who speaks when")

    @api.view("GET /formats", answers.FormatsAnswer)
    def list_all() -> tuple[Response, int]:
        """List formats: the built-in ones, then the others by name"""
        return success({"formats": [FormatShape.of(each) for each in formats.list_formats(services)]})

    @api.view("POST /formats", answers.FormatAnswer, 201, 200, takes=Action.CREATE, max_bytes=MOST_BYTES + 1)
    def add(body: requests.FormatBody) -> tuple[Response, int]:
        """Add a format, or a new version of one"""
        schedule, is_new = formats.add_format(services, current_caller(), body.stated())
        return success({"format": FormatShape.of(schedule)}, 201 if is_new else 200)

    @api.view("GET /formats/<name>", answers.FormatAnswer)
    def get(name: requests.FormatName) -> tuple[Response, int]:
        """Read a format"""
        return success({"format": FormatShape.of(formats.get_format(services, name))})

    @api.view("DELETE /formats/<name>", DeletedAnswer)
    def delete(name: requests.FormatName) -> dict[str, bool]:
        """Delete a format. Debates that use it keep it"""
        formats.delete_format(services, current_caller(), name)
        return {"deleted": True}

    return api
