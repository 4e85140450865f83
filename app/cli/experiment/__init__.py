"""`debate experiment …`: hold many debates from one file, and see what they say."""

import typer

from app.cli.experiment import control, data, figures, invitations, run
from app.cli.help import WholeSummaries

commands = typer.Typer(
    name="experiment",
    cls=WholeSummaries,
    help="Compare players over many debates, from one file.",
    no_args_is_help=True,
)
# In the order of `debate experiment --help`.
for module in (run, control, figures, data):
    commands.registered_commands += module.commands.registered_commands
commands.add_typer(invitations.commands)
