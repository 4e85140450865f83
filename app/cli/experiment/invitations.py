"""`debate experiment invitations …`: the invitations to judge an experiment."""

from app.cli.command import CommandResult, Commands
from app.cli.experiment.named import ExperimentId
from app.cli.invitations import Invitation, issued, revoked

commands = Commands(name="invitations", help="List and revoke invitations to judge.")


@commands.command("list")
def list_(experiment: ExperimentId) -> CommandResult:
    """List the invitations to judge that are still valid.

    Example: debate experiment invitations list demo
    """
    return issued(experiment.path, "judge")


@commands.command()
def revoke(experiment: ExperimentId, invitation: Invitation) -> CommandResult:
    """Revoke an invitation to judge. The person's judgments are kept.

    Example: debate experiment invitations revoke demo --invitation <id>
    """
    return revoked(experiment.path, invitation)
