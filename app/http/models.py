"""Models: the players, their prompts, and the stored exchanges with them."""

from typing import Any
from uuid import UUID

from flask import Response

from app.core.access import Action
from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import PromptSetShape, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import read
from app.usecases.players import list_players
from app.usecases.prompt_sets import add_prompt_set, get_prompt_set, list_prompt_sets
from app.usecases.services import Services
from app.wire.debates import ExchangeShape, calls_json, time_json


def models_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("models", "Models in the seats")

    @api.view("GET /debates/<debate_id>/arguments/<argument_id>/exchange", answers.ExchangeAnswer)
    def exchange(debate_id: UUID, argument_id: UUID) -> tuple[Response, int]:
        """Read the prompts that a model received for a turn, and its responses"""
        turn, calls = read.get_exchanges(services, current_caller(), debate_id, argument_id)
        return success({"exchange": ExchangeShape.of(turn, calls=calls_json(calls))})

    @api.view("POST /prompts", answers.PromptSetAnswer, 201, takes=Action.PROMPTS)
    def add_prompts(body: requests.PromptSetBody) -> dict[str, Any]:
        """Add a prompt set"""
        return {"prompt_set": add_prompt_set(services, current_caller(), body.name, body.files)}

    @api.view("GET /prompts", answers.PromptSetsAnswer)
    def list_prompts() -> tuple[Response, int]:
        """List prompt sets by name"""
        found = [
            PromptSetShape.of(each, files=sorted(each.files), added_at=time_json(added_at))
            for each, added_at in list_prompt_sets(services)
        ]
        return success({"prompt_sets": found})

    @api.view("GET /prompts/<name>", answers.PromptSetAnswer)
    def get_prompts(name: requests.PromptSetName) -> dict[str, Any]:
        """Read a prompt set with its files"""
        return {"prompt_set": get_prompt_set(services, name)}

    @api.view("GET /models", answers.ModelsAnswer)
    def models() -> dict[str, Any]:
        """List the players that can fill a seat"""
        workers, choices = list_players(services)
        return {"workers": workers, "players": choices}

    return api
