"""`debate --help`: the commands by what one wants to do, with summaries that are never cut."""

from typing import Any

from typer.core import TyperGroup

from app.cli.output import as_typed

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
        *("up", "api", "worker", "doctor", "health", "agents", "invite", "invitations", "webhooks", "guardrail"),
        *("prune", "repair", "db"),
    ),
}
LONGEST_SUMMARY = 1000
"""Whole: the formatter wraps it."""


class WholeSummaries(TyperGroup):
    """The help of `debate experiment`, `debate webhooks` and the like."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        width = max(map(len, shown))
        for title, names in self.sections(tuple(shown)).items():
            rows = [(name.ljust(width), shown[name].get_short_help_str(LONGEST_SUMMARY)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def sections(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        return {"Commands": names}


class GroupedHelp(WholeSummaries):
    def sections(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        grouped = {title: tuple(name for name in group if name in names) for title, group in GROUPS.items()}
        named = {name for group in grouped.values() for name in group}
        return {**grouped, "Other commands": tuple(name for name in names if name not in named)}


def help_as_typed(command: Any, name: str) -> Any:
    """The help of a command and of those below it names the program as its user typed it."""
    if name != "debate":
        for part in (command, *command.params):
            if getattr(part, "help", None):
                part.help = as_typed(part.help, name)
        for below in getattr(command, "commands", {}).values():
            help_as_typed(below, name)
    return command
