"""Models in the seats: which there are, what they are instructed with, and what each was sent and answered."""

from flask import Response

from app.http import answers, requests
from app.http.access import current_caller
from app.http.answers import success
from app.http.blueprint import Blueprint, api_blueprint
from app.usecases import read
from app.usecases.players import list_players
from app.usecases.prompt_sets import add_prompt_set, get_prompt_set, list_prompt_sets
from app.usecases.services import Services
from app.wire.debates import exchange_json
from app.wire.players import listed_prompt_set_json, player_json, prompt_set_json


def models_blueprint(services: Services) -> Blueprint:
    api = api_blueprint("models", "Models in the seats")

    @api.get(
        "/debates/<debate_id>/arguments/<argument_id>/exchange",
        summary="What a model was sent and answered",
        responses={200: answers.ExchangeAnswer},
    )
    def exchange(path: requests.ArgumentPath) -> tuple[Response, int]:
        turn, calls = read.get_exchanges(services, current_caller(), path.debate_id, path.argument_id)
        return success({"exchange": exchange_json(turn, calls)})

    @api.post("/prompts", summary="Add a prompt set", responses={201: answers.PromptSetAnswer})
    def add_prompts(body: requests.PromptSetBody) -> tuple[Response, int]:
        added = add_prompt_set(services, current_caller(), body.name, body.files)
        return success({"prompt_set": prompt_set_json(added)}, 201)

    @api.get("/prompts", summary="Prompt sets by name", responses={200: answers.PromptSetsAnswer})
    def list_prompts() -> tuple[Response, int]:
        found = list_prompt_sets(services)
        return success({"prompt_sets": [listed_prompt_set_json(each, added_at) for each, added_at in found]})

    @api.get("/prompts/<name>", summary="A prompt set with its files", responses={200: answers.PromptSetAnswer})
    def get_prompts(path: requests.PromptSetPath) -> tuple[Response, int]:
        return success({"prompt_set": prompt_set_json(get_prompt_set(services, path.name))})

    @api.get("/models", summary="What can fill a seat", responses={200: answers.ModelsAnswer})
    def models() -> tuple[Response, int]:
        workers, choices = list_players(services)
        return success({"workers": workers, "players": [player_json(choice) for choice in choices]})

    return api
