"""`debate invitations …` and `debate experiment invitations …`."""

from typing import Annotated

import typer

from app.cli import output
from app.cli.command import CommandResult, Commands
from app.cli.options import DebateId, connect

commands = Commands(name="invitations", help="List and revoke invitations to a debate.")
Invitation = Annotated[str, typer.Option("--invitation", metavar="<id>", help="Its id, as listed.")]


@commands.command("list")
def list_(debate: DebateId) -> CommandResult:
    """List the invitations to a debate that are still valid.

    Example: debate invitations list 0b0e…
    """
    return issued(debate.path, "role")


@commands.command()
def revoke(debate: DebateId, invitation: Invitation) -> CommandResult:
    """Revoke an invitation with its link, key and sessions. Its seat is open again.

    Example: debate invitations revoke 0b0e… --invitation <id>
    """
    return revoked(debate.path, invitation)


def issued(path: str, to: str) -> CommandResult:
    found = connect().get(f"{path}/invitations")
    rows = [
        (output.clean(one[to]), one["invited_by"], one["expires_at"][:16].replace("T", " "), one["id"])
        for one in found["invitations"]
    ]
    lines = output.aligned([(to, "invited by", "until (UTC)", "id"), *rows]) if rows else ()
    return CommandResult(found, lines, "No invitations")


def revoked(path: str, invitation: str) -> CommandResult:
    answer = connect().delete(f"{path}/invitations/{invitation}")
    return CommandResult(answer, [f"The invitation {output.one_line(output.clean(invitation))} is revoked."])
