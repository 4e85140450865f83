"""Custom prompt sets: adding, listing and reading them."""

from collections.abc import Mapping
from datetime import datetime

from app.core.access import Action, Caller, require
from app.core.errors import NotFound, or_raise
from app.core.prompt_sets import PromptSet, checked_set
from app.store import prompt_sets
from app.usecases.outages import postponed_during_outages
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict


@repeated_on_conflict
def add_prompt_set(services: Services, caller: Caller, name: str, files: Mapping[str, str]) -> PromptSet:
    require(caller, Action.PROMPTS)
    given = checked_set(name, files)
    with services.engine.begin() as connection:
        prompt_sets.add(connection, given)
    return given


def list_prompt_sets(services: Services) -> list[tuple[PromptSet, datetime]]:
    with services.engine.statements() as connection:
        return prompt_sets.latest(connection)


def get_prompt_set(services: Services, name: str) -> PromptSet:
    with services.engine.statements() as connection:
        found = prompt_sets.named(connection, name)
    return or_raise(found, NotFound(f"There is no prompt set {name!r}", suggestion="`debate prompts list` lists them"))


@postponed_during_outages()
def prompt_set_of_hash(services: Services, hash_: str) -> PromptSet | None:
    """The set that a debate's models are instructed with, even if its name has another content now."""
    with services.engine.statements() as connection:
        return prompt_sets.of_hash(connection, hash_)
