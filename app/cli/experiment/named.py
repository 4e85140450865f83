"""Experiments by their id or their name."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli.errors import CommandFailed
from app.cli.options import connect
from app.cli.output import Json, program
from app.words.experiments import ending

if TYPE_CHECKING:
    from app.cli.client import Api

EXPERIMENTS = "/experiments"


@dataclass(frozen=True)
class ExperimentId:
    """The experiment that a command is about."""

    which: Annotated[str, typer.Argument(help="The experiment's id or name.", show_default=False)]

    @cached_property
    def api(self) -> "Api":
        return connect()

    @cached_property
    def path(self) -> str:
        return path_of(self.api, self.which)

    def get(self) -> Json:
        experiment: Json = self.api.get(self.path)["experiment"]
        return experiment

    def post(self, action: str, body: Json | None = None) -> Json:
        return self.api.post(f"{self.path}/{action}", body, repeatable=True)


def path_of(api: "Api", given: str) -> str:
    """The path of this experiment: an id is used as it is, a name is searched."""
    try:
        return f"{EXPERIMENTS}/{UUID(given)}"
    except ValueError:
        all_ = list(api.pages(EXPERIMENTS, "experiments"))
    found = [one for one in all_ if one["name"] == given] or [
        one for one in all_ if one["id"].startswith(given.lower())
    ]
    if len(found) == 1:
        return f"{EXPERIMENTS}/{found[0]['id']}"
    if not found:
        raise CommandFailed(f"No experiment is named {given!r}", suggestion=f"`{program()} experiment list` shows them")
    raise CommandFailed(f"{len(found)} experiments match {given!r}", suggestion="Give the whole id")


def ending_of(experiment: Json) -> str:
    return ending(experiment["status"], experiment.get("stop_reason"))
