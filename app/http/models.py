"""Models in the seats: which there are, what they are instructed with, and what each was sent and answered."""

from flask import Response

from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import PlayerShape, PromptSetShape, WholePromptSetShape, success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import read
from app.usecases.players import list_players
from app.usecases.prompt_sets import add_prompt_set, get_prompt_set, list_prompt_sets
from app.usecases.services import Services
from app.wire.debates import ExchangeShape, calls_json, time_json


def models_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("models", "Models in the seats")

    @api.get(
        "/debates/<debate_id>/arguments/<argument_id>/exchange",
        summary="What a model was sent and answered",
        responses={200: answers.ExchangeAnswer},
    )
    def exchange(path: requests.ArgumentPath) -> tuple[Response, int]:
        turn, calls = read.get_exchanges(services, current_caller(), path.debate_id, path.argument_id)
        return success({"exchange": ExchangeShape.of(turn, calls=calls_json(calls))})

    @api.post("/prompts", summary="Add a prompt set", responses={201: answers.PromptSetAnswer})
    def add_prompts(body: requests.PromptSetBody) -> tuple[Response, int]:
        added = add_prompt_set(services, current_caller(), body.name, body.files)
        return success({"prompt_set": WholePromptSetShape.of(added)}, 201)

    @api.get("/prompts", summary="Prompt sets by name", responses={200: answers.PromptSetsAnswer})
    def list_prompts() -> tuple[Response, int]:
        found = [
            PromptSetShape.of(each, files=sorted(each.files), added_at=time_json(added_at))
            for each, added_at in list_prompt_sets(services)
        ]
        return success({"prompt_sets": found})

    @api.get("/prompts/<name>", summary="A prompt set with its files", responses={200: answers.PromptSetAnswer})
    def get_prompts(path: requests.PromptSetPath) -> tuple[Response, int]:
        return success({"prompt_set": WholePromptSetShape.of(get_prompt_set(services, path.name))})

    @api.get("/models", summary="What can fill a seat", responses={200: answers.ModelsAnswer})
    def models() -> tuple[Response, int]:
        workers, choices = list_players(services)
        return success({"workers": workers, "players": [PlayerShape.of(choice) for choice in choices]})

    return api
