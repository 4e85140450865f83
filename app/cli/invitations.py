"""`debate invitations …`: the invitations to a debate."""

from typing import Annotated

import typer

from app.cli import output
from app.cli.help import WholeSummaries
from app.cli.options import AsJson, DebateId, NamedDebateId, connect, id_of

commands = typer.Typer(
    name="invitations", cls=WholeSummaries, help="List and revoke invitations to a debate.", no_args_is_help=True
)
Invitation = Annotated[str, typer.Option("--invitation", metavar="<id>", help="Its id, as listed.")]


@commands.command("list")
def list_(debate_id: DebateId = None, named: NamedDebateId = None, as_json: AsJson = False) -> None:
    """List the invitations to a debate that still open something.

    Example: debate invitations list 0b0e…
    """
    list_issued(f"/debates/{id_of(debate_id, named)}", "role", as_json)


@commands.command()
def revoke(
    invitation: Invitation, debate_id: DebateId = None, named: NamedDebateId = None, as_json: AsJson = False
) -> None:
    """Revoke an invitation: its link, its key and its sessions end, and its seat is open again.

    Example: debate invitations revoke 0b0e… --invitation <id>
    """
    revoke_issued(f"/debates/{id_of(debate_id, named)}", invitation, as_json)


def list_issued(path: str, to: str, as_json: bool) -> None:
    found = connect().get(f"{path}/invitations")
    rows = [(to, "invited by", "until", "id")]
    rows += [(output.clean(one[to]), one["invited_by"], one["expires_at"], one["id"]) for one in found["invitations"]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    output.answer(found, as_json, lines if found["invitations"] else [], "No invitations")


def revoke_issued(path: str, invitation: str, as_json: bool) -> None:
    answer = connect().delete(f"{path}/invitations/{invitation}")
    output.answer(answer, as_json, [f"The invitation {output.one_line(output.clean(invitation))} is revoked."])
