"""`debate formats …`, and the formats that other commands name or have as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.command import CommandResult, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import connect
from app.core.schedules import BUILT_IN, Schedule
from app.words.schedules import order_of_speech

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands(name="formats", help="Manage custom formats.")
SUFFIXES = (".yaml", ".yml", ".json")
Name = Annotated[str, typer.Argument(help="The name of the format.")]
File = Annotated[Path, typer.Argument(help="A format's file (YAML or JSON).", show_default=False)]


@commands.command("list")
def list_() -> CommandResult:
    """List the formats.

    Example: debate formats list
    """
    found = connect().get("/formats")["formats"]
    return CommandResult(found, [f"{one['name']:<24} {one['hash'][:12]}  {one['description']}" for one in found])


@commands.command()
def show(name: Name) -> CommandResult:
    """Print a format with its rules.

    Example: debate formats show rounds
    """
    import yaml

    found = connect().get(_path_of(name))["format"]
    written = yaml.safe_dump(found["schedule"], sort_keys=False, allow_unicode=True).rstrip()
    return CommandResult(found, [written, "", _rules(_schedule_in(found))])


@commands.command()
def check(file: File) -> CommandResult:
    """Check a format's file and print its rules. Needs no server.

    Example: debate formats check my-format.yaml
    """
    from app.core.schedule_files import as_json, hash_of

    schedule = read_format(file)
    lines = [f"{schedule.name}, nothing wrong: {hash_of(schedule)[:12]}", _rules(schedule)]
    return CommandResult({"name": schedule.name, "hash": hash_of(schedule), "schedule": as_json(schedule)}, lines)


@commands.command()
def add(file: File) -> CommandResult:
    """Store a format under its name. Existing debates keep their version.

    Example: debate formats add my-format.yaml
    """
    added = add_format(connect(), read_format(file))
    return CommandResult(added, [f"{added['name']} is now {added['hash'][:12]}."])


@commands.command()
def delete(name: Name) -> CommandResult:
    """Delete a format. Debates that use it keep it.

    Example: debate formats delete my-format
    """
    deleted = connect().delete(_path_of(name))
    return CommandResult(deleted, [f"Deleted the format {name}."])


def is_file(given: str) -> bool:
    return given.endswith(SUFFIXES)


def read_format(path: Path) -> Schedule:
    import yaml

    from app.core.errors import InvalidInput
    from app.core.schedule_files import MOST_BYTES, read_schedule

    try:
        if path.stat().st_size > MOST_BYTES:
            raise CommandFailed(f"{path} has more than {MOST_BYTES:,} bytes")
        return read_schedule(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandFailed(f"{path} cannot be read: {problem}", Exit.USAGE) from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise CommandFailed(f"{path}: not YAML ({problem})") from None
    except InvalidInput as problem:
        raise CommandFailed(f"{path}: {problem.message}") from None


def add_format(api: "Api", schedule: Schedule) -> dict[str, Any]:
    from app.core.schedule_files import as_json

    added: dict[str, Any] = api.post("/formats", as_json(schedule), repeatable=True)["format"]
    return added


def chosen(given: str, api: "Api | None" = None) -> Schedule:
    """What `--format` says: a built-in format, a file, which is added, or a format of the server."""
    if given in BUILT_IN:
        return BUILT_IN[given]
    api = api or connect()
    if not is_file(given):
        return _schedule_in(api.get(_path_of(given))["format"])
    schedule = read_format(Path(given))
    add_format(api, schedule)
    return schedule


def _schedule_in(found: dict[str, Any]) -> Schedule:
    from app.core.schedule_files import schedule_of_json

    return BUILT_IN[found["name"]] if found["built_in"] else schedule_of_json(found["schedule"])


def _path_of(name: str) -> str:
    from urllib.parse import quote

    return f"/formats/{quote(name, safe='')}"


def _rules(schedule: Schedule) -> str:
    return order_of_speech(schedule, schedule.default_rounds)
