"""`debate prompts …`: sets of prompts of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import output
from app.cli.errors import CommandFailed, Exit
from app.cli.help import WholeSummaries
from app.cli.options import AsJson, connect
from app.words.counts import count

commands = typer.Typer(name="prompts", cls=WholeSummaries, help="Manage prompt sets of your own.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="A folder with some or all of the files of the built-in set.")]
Name = Annotated[str, typer.Argument(help="The name of the set.")]


@commands.command()
def check(folder: Folder, as_json: AsJson = False) -> None:
    """Check a folder of prompts; needs no server.

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
    output.answer({"hash": checked.hash, "base": checked.base, "files": sorted(files)}, as_json, lines)


@commands.command()
def add(name: Name, folder: Folder, as_json: AsJson = False) -> None:
    """Store a folder of prompts under a name. Debates that exist already keep the prompts they began with.

    Example: debate prompts add short my-prompts
    """
    added = connect().post("/prompts", {"name": name, "files": _read(folder)}, repeatable=True)["prompt_set"]
    said = f"{added['name']} is now {added['hash'][:12]}: {count(len(added['files']), 'file')}."
    output.answer(added, as_json, [said])


@commands.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the prompt sets by name.

    Example: debate prompts list
    """
    found = connect().get("/prompts")["prompt_sets"]
    lines = [
        f"{each['name']:<24} {each['hash'][:12]}  {each['added_at']}  {', '.join(each['files'])}" for each in found
    ]
    output.answer(found, as_json, lines, f"No prompt sets yet. Add one: {output.program()} prompts add <name> <folder>")


@commands.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """Print a prompt set with its files.

    Example: debate prompts show short
    """
    from urllib.parse import quote

    found = connect().get(f"/prompts/{quote(name, safe='')}")["prompt_set"]
    about = f"{found['name']} {found['hash']}, over the built-in set {found['base']}"
    files = [f"\n== {file}.md\n{text.rstrip()}" for file, text in sorted(found["files"].items())]
    output.answer(found, as_json, [about, *files])


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
