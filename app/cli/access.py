"""The operator's commands about who may act and what may be seen: agents, their keys, and the guardrail.

Commands import what they need when they run, so that `debate --help` is quick.
"""

from typing import Annotated
from uuid import UUID

import typer

from app.cli import completion
from app.cli.options import AsJson
from app.core.access import Scope

commands = typer.Typer()
agents = typer.Typer(help="Agents and their keys.", no_args_is_help=True)
guardrail = typer.Typer(help="What was flagged before others see it.", no_args_is_help=True)
commands.add_typer(agents, name="agents")
commands.add_typer(guardrail, name="guardrail")

Named = Annotated[str, typer.Argument(help="The agent's name or id.", autocompletion=completion.agents)]
Scopes = Annotated[
    list[Scope] | None,
    typer.Option("--scope", help="What its key may do; repeat it for more. [read and debate]"),
]


@agents.command()
def create(
    username: Annotated[str, typer.Argument(help="Letters, digits, dots, dashes and underscores.")],
    display_name: Annotated[str | None, typer.Option(help="The name that people see.")] = None,
    scopes: Scopes = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent and print its key, which is shown this once.

    Example: debate agents create skeptic --display-name "The skeptic"

    Example: debate agents create referee --scope read --scope arbitrate
    """
    from app.cli.keys import create_agent
    from app.settings import settings_or_exit

    create_agent(settings_or_exit(), username, display_name, [scope.value for scope in scopes or []], as_json)


@agents.command("list")
def list_(as_json: AsJson = False) -> None:
    """List agents by name, with what their keys may do and whether they still hold.

    Example: debate agents list
    """
    from app.cli.keys import list_agents
    from app.settings import settings_or_exit

    list_agents(settings_or_exit(), as_json)


@agents.command()
def revoke(agent: Named, as_json: AsJson = False) -> None:
    """Make an agent's key useless, at once. What it has open is ended within seconds.

    Example: debate agents revoke skeptic
    """
    from app.cli.keys import revoke_key
    from app.settings import settings_or_exit

    revoke_key(settings_or_exit(), agent, as_json)


@agents.command()
def rotate(agent: Named, as_json: AsJson = False) -> None:
    """Give an agent a new key, shown this once. The old one is useless at once.

    Example: debate agents rotate skeptic
    """
    from app.cli.keys import rotate_key
    from app.settings import settings_or_exit

    rotate_key(settings_or_exit(), agent, as_json)


@guardrail.command()
def review(
    evaluation: Annotated[
        UUID | None,
        typer.Argument(help="The evaluation to decide about. [list them all]", autocompletion=completion.flagged),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Let everybody see it.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Keep it from everybody but its author.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why; recorded, and shown to its author.")] = None,
    as_json: AsJson = False,
) -> None:
    """List what the guardrail flagged, or decide about one of them, once and for all.

    Example: debate guardrail review

    Example: debate guardrail review 0b0e… --approve --reason "The address is that of a public office"
    """
    from app.cli.reviewing import decide, list_flagged
    from app.settings import settings_or_exit

    if evaluation is None:
        if approve or reject or reason is not None:
            raise typer.BadParameter("name the evaluation to decide about", param_hint="evaluation")
        list_flagged(settings_or_exit(), as_json)
        return
    if approve == reject:
        raise typer.BadParameter("say one of --approve and --reject", param_hint="--approve")
    if reason is None:
        raise typer.BadParameter("say why", param_hint="--reason")
    decide(settings_or_exit(), str(evaluation), "approve" if approve else "reject", reason, as_json)
