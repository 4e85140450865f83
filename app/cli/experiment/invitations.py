"""`debate experiment invitations …`: the invitations to judge an experiment."""

import typer

from app.cli.experiment.named import Named, path_of
from app.cli.help import WholeSummaries
from app.cli.invitations import Invitation, list_issued, revoke_issued
from app.cli.options import AsJson, connect

commands = typer.Typer(
    name="invitations", cls=WholeSummaries, help="List and revoke invitations to judge.", no_args_is_help=True
)


@commands.command("list")
def list_(which: Named, as_json: AsJson = False) -> None:
    """List the invitations to judge that still open something.

    Example: debate experiment invitations list demo
    """
    list_issued(path_of(connect(), which), "judge", as_json)


@commands.command()
def revoke(which: Named, invitation: Invitation, as_json: AsJson = False) -> None:
    """Revoke an invitation to judge. What the person has judged stays.

    Example: debate experiment invitations revoke demo --invitation <id>
    """
    revoke_issued(path_of(connect(), which), invitation, as_json)
