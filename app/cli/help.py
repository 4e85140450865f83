"""`debate --help`: the commands grouped by task, with complete summaries."""

from typing import Any, ClassVar

from typer.core import TyperGroup

from app.cli.output import as_typed

GROUPS = {
    "Run debates": ("run", "create", "start", "fork", "import", "models", "prompts", "formats"),
    "Read debates": ("list", "watch", "show", "events", "export"),
    "Take part": (
        *("take", "release", "wait", "submit", "appeal", "resolve"),
        *("question", "rule", "interrupt", "guide", "mcp", "generate-id"),
    ),
    "Compare players": ("experiment",),
    "Operate": (
        *("stop", "pause", "resume", "delete"),
        *("up", "api", "worker", "doctor", "health", "agents", "invite", "invitations", "webhooks", "guardrail"),
        *("prune", "repair", "db"),
    ),
}
OTHER_NAMES = {
    "show": "get-context",
    "resolve": "request-completion",
    "interrupt": "intervention",
    "rule": "ruling",
}
"""Second names of commands: scripts use them, and `available_actions` of --json has them."""
LONGEST_SUMMARY = 1000
"""Complete: the formatter wraps it."""


class WholeSummaries(TyperGroup):
    """The help of `debate experiment`, `debate webhooks` and the like."""

    other_names: ClassVar[dict[str, str]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        width = max(map(len, shown))
        for title, names in self.sections(tuple(shown)).items():
            rows = [(name.ljust(width), self._summary(name)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _summary(self, name: str) -> str:
        summary: str = self.commands[name].get_short_help_str(LONGEST_SUMMARY)
        other = self.other_names.get(name)
        return f"{summary.removesuffix('.')} (also {other})." if other else summary

    def sections(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        return {"Commands": names}


class GroupedHelp(WholeSummaries):
    other_names = OTHER_NAMES

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        named = {other: name for name, other in OTHER_NAMES.items()}
        return super().get_command(ctx, named.get(cmd_name, cmd_name))

    def sections(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        grouped = {title: tuple(name for name in group if name in names) for title, group in GROUPS.items()}
        named = {name for group in grouped.values() for name in group}
        return {**grouped, "Other commands": tuple(name for name in names if name not in named)}


def help_as_typed(command: Any, name: str) -> Any:
    """Names the program in the help of a command and its subcommands as the user typed it."""
    if name != "debate":
        for part in (command, *command.params):
            if getattr(part, "help", None):
                part.help = as_typed(part.help, name)
        for below in getattr(command, "commands", {}).values():
            help_as_typed(below, name)
    return command
