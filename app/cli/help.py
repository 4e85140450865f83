"""`debate --help`: the commands by what one wants to do, with summaries that are never cut."""

from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "Hold a debate": ("run", "create", "start", "fork", "models", "prompts"),
    "Watch debates": ("list", "watch", "get-context", "events", "export"),
    "Take part": (
        *("take", "release", "wait", "submit", "appeal", "request-completion"),
        *("question", "ruling", "intervention", "guide", "mcp", "generate-id"),
    ),
    "Compare players": ("experiment",),
    "Operate": (
        *("stop", "pause", "resume", "delete"),
        *("up", "api", "worker", "doctor", "health", "agents", "invite", "webhooks", "guardrail"),
        *("prune", "repair", "db"),
    ),
}
LONGEST_SUMMARY = 1000
"""Whole: the formatter wraps it."""


class GroupedHelp(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        width = max(map(len, shown))
        named = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in shown if name not in named)
        for title, names in (*GROUPS.items(), ("Other commands", others)):
            rows = [
                (name.ljust(width), shown[name].get_short_help_str(LONGEST_SUMMARY)) for name in names if name in shown
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def as_typed(command: Any, name: str) -> Any:
    """The examples in the help of a command and of those below it name the program as its user typed it."""
    if name != "debate" and command.help:
        command.help = command.help.replace("Example: debate ", f"Example: {name} ")
    for below in getattr(command, "commands", {}).values():
        as_typed(below, name)
    return command
