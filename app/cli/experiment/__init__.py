"""`debate experiment …`: run many debates from one file, and analyze their results."""

from app.cli.command import Commands
from app.cli.experiment import control, data, figures, invitations, run

commands = Commands(name="experiment", help="Compare players over many debates, from one file.")
# In the order of `debate experiment --help`.
for module in (run, control, figures, data):
    commands.registered_commands += module.commands.registered_commands
commands.add_typer(invitations.commands)
