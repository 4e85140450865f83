"""`debate prompts …`: custom prompt sets."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import output
from app.cli.command import CommandResult, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import connect
from app.words.counts import count

commands = Commands(name="prompts", help="Manage custom prompt sets.")

Folder = Annotated[Path, typer.Argument(help="A folder with some or all of the files of the built-in set.")]
Name = Annotated[str, typer.Argument(help="The name of the set.")]


@commands.command()
def check(folder: Folder) -> CommandResult:
    """Check a folder of prompts. Needs no server.

    Example: debate prompts check my-prompts
    """
    from app.core.errors import DebateError
    from app.core.prompt_sets import FILES, checked_set

    files = _read(folder)
    try:
        checked = checked_set("checked", files)
    except DebateError as problem:
        raise CommandFailed(f"{folder}: {problem.message.removeprefix('files.')}") from None
    lines = [
        f"{count(len(files), 'file')}, nothing wrong: {checked.hash[:12]}",
        f"From the built-in set {checked.base}: {', '.join(sorted(FILES.keys() - files.keys())) or 'nothing'}",
    ]
    return CommandResult({"hash": checked.hash, "base": checked.base, "files": sorted(files)}, lines)


@commands.command()
def add(name: Name, folder: Folder) -> CommandResult:
    """Store a folder of prompts under a name. Existing debates keep their prompts.

    Example: debate prompts add short my-prompts
    """
    added = connect().post("/prompts", {"name": name, "files": _read(folder)}, repeatable=True)["prompt_set"]
    said = f"{added['name']} is now {added['hash'][:12]}: {count(len(added['files']), 'file')}."
    return CommandResult(added, [said])


@commands.command("list")
def list_() -> CommandResult:
    """List the prompt sets by name.

    Example: debate prompts list
    """
    found = connect().get("/prompts")["prompt_sets"]
    lines = (f"{one['name']:<24} {one['hash'][:12]}  {one['added_at']}  {', '.join(one['files'])}" for one in found)
    return CommandResult(found, lines, f"No prompt sets yet. Add one: {output.program()} prompts add <name> <folder>")


@commands.command()
def show(name: Name) -> CommandResult:
    """Print a prompt set with its files.

    Example: debate prompts show short
    """
    from urllib.parse import quote

    found = connect().get(f"/prompts/{quote(name, safe='')}")["prompt_set"]
    about = f"{found['name']} {found['hash']}, over the built-in set {found['base']}"
    files = [f"\n== {file}.md\n{text.rstrip()}" for file, text in sorted(found["files"].items())]
    return CommandResult(found, [about, *files])


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise CommandFailed(f"{folder} is not a folder", Exit.USAGE, "Give a folder with files such as proposer.md")
    try:
        files = {
            path.name.removesuffix(".md"): path.read_text(encoding="utf-8")
            for path in sorted(folder.iterdir())
            if not path.name.startswith(".") and path.is_file()
        }
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandFailed(f"{folder} cannot be read: {problem}") from None
    if not files:
        raise CommandFailed(f"{folder} has no files", Exit.USAGE, "Give a folder with files such as proposer.md")
    return files
