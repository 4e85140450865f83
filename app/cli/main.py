"""The `debate` command. Commands import what they need when they run, so that `debate --help` is quick."""

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from app.cli.errors import CommandFailed, Exit
from app.cli.interrupts import Interrupted, raise_when_told_to_end

app = typer.Typer(
    help="Run debates between AI models, agents and people, in the background, without losing a turn.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
db = typer.Typer(help="The database's schema.", no_args_is_help=True)
app.add_typer(db, name="db")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
DebateId = Annotated[UUID, typer.Argument(help="The debate's id.")]


@app.command("run")
def run_(
    motion: Annotated[str, typer.Argument(help="What is to be debated.")],
    rounds: Annotated[int, typer.Option(help="How many rounds.", min=1, max=10_000)] = 3,
    player: Annotated[str | None, typer.Option(help="Who fills every seat not named otherwise.")] = None,
    proposer: Annotated[str | None, typer.Option(help="Who argues for the motion.")] = None,
    opponent: Annotated[str | None, typer.Option(help="Who argues against it.")] = None,
    arbitrator: Annotated[str | None, typer.Option(help="Who judges.")] = None,
    think: Annotated[float | None, typer.Option(help="Seconds that scripted players pretend to think.", min=0)] = None,
    as_json: AsJson = False,
) -> None:
    """Hold a whole debate and follow it to its verdict.

    Brings up Postgres, Valkey, an API and a worker of its own when no server answers.

    Example: debate run "Cities should ban private cars from their centres" --rounds 2 --think 1
    """
    from app.cli.run import RunOptions, run_debate
    from app.settings import settings_or_exit

    settings = settings_or_exit()
    default = player or settings.default_player
    seats = {"proposer": proposer or default, "opponent": opponent or default, "arbitrator": arbitrator or default}
    run_debate(settings, RunOptions(motion, rounds, seats, think, as_json))


@app.command()
def up(
    port: Annotated[int | None, typer.Option(help="The API's port.", min=1, max=65535)] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the embedded servers keep their files.")] = None,
    workers: Annotated[int, typer.Option(help="How many worker processes.", min=1, max=64)] = 1,
) -> None:
    """Run everything on this machine until Ctrl-C.

    Example: debate up --port 8080 --workers 2
    """
    from app.cli.serve import up as bring_up
    from app.settings import settings_or_exit

    given = {"server_port": port, "data_dir": data_dir.expanduser() if data_dir else None}
    changes = {name: value for name, value in given.items() if value is not None}
    bring_up(settings_or_exit().with_changes(**changes), workers)


@app.command()
def api() -> None:
    """Run one API server, for real deployments.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate api
    """
    from app.cli.serve import api as serve_api
    from app.settings import settings_or_exit

    serve_api(settings_or_exit())


@app.command()
def worker() -> None:
    """Run one worker process, for real deployments. Start as many as you like, anywhere.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate worker
    """
    from app.cli.serve import worker as serve_worker
    from app.settings import settings_or_exit

    serve_worker(settings_or_exit())


@app.command("list")
def list_(
    status: Annotated[str | None, typer.Option(help="Only debates of this status.")] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=200)] = 20,
    as_json: AsJson = False,
) -> None:
    """List debates by last activity.

    Example: debate list --status running
    """
    from app.cli import show
    from app.cli.client import Api
    from app.settings import settings_or_exit

    page = Api.of(settings_or_exit()).get("/debates", status=status, limit=limit)
    if as_json:
        show.print_json(page)
    elif page["debates"]:
        show.print_debates(page["debates"])
        if page["total"] > len(page["debates"]):
            show.err.print(f"[dim]{len(page['debates'])} of {page['total']}; --limit shows more[/]")
    elif status:
        show.err.print(f"No debate is {status}.")
    else:
        show.err.print(
            'No debates yet. Start one: debate run "Cities should ban private cars from their centres"', soft_wrap=True
        )


@app.command()
def stop(
    debate_id: DebateId,
    reason: Annotated[str | None, typer.Option(help="For whoever reads it later.")] = None,
    as_json: AsJson = False,
) -> None:
    """End a debate now. A player in the middle of a turn is not waited for.

    Example: debate stop 0b0e… --reason "wrong motion"
    """
    from app.cli import show
    from app.cli.client import Api
    from app.settings import settings_or_exit

    data = Api.of(settings_or_exit()).post(f"/debates/{debate_id}/stop", {"reason": reason} if reason else None)
    if as_json:
        show.print_json(data)
    else:
        show.out.print(show.ending(data["debate"]))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check each part, and say what to do about what is wrong.

    Example: debate doctor
    """
    from app.cli.doctor import doctor as examine
    from app.settings import settings_or_exit

    if not examine(settings_or_exit(), as_json):
        raise typer.Exit(Exit.ERROR)


@app.command()
def repair(as_json: AsJson = False) -> None:
    """Recompute every debate's cursor from its turns, and show what changed.

    Example: debate repair
    """
    from app.cli.database import repair as repair_cursors
    from app.settings import settings_or_exit

    repair_cursors(settings_or_exit(), as_json)


@db.command()
def upgrade() -> None:
    """Bring the database to the newest schema.

    Example: debate db upgrade
    """
    from app.cli.database import upgrade as upgrade_schema
    from app.settings import settings_or_exit

    upgrade_schema(settings_or_exit())


def run() -> None:
    raise_when_told_to_end()
    try:
        # Out of standalone mode typer.Exit comes back as a plain return value.
        sys.exit(app(prog_name="debate", standalone_mode=False))
    except CommandFailed as failure:
        _complain(failure.message, failure.suggestion)
        sys.exit(failure.exit_code)
    except Interrupted as told:
        sys.exit(told.exit_code)
    except Exception as problem:
        # Click's own complaints about usage print themselves.
        if hasattr(problem, "show") and hasattr(problem, "exit_code"):
            problem.show()
            sys.exit(problem.exit_code)
        raise


def _complain(message: str, suggestion: str | None) -> None:
    sys.stderr.write(f"debate: {message}\n")
    if suggestion:
        sys.stderr.write(f"  {suggestion}\n")
