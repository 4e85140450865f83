"""The commands of whoever runs the servers, and `debate run`, which brings its own.

Commands import what they need when they run, so that `debate --help` is quick.
"""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import completion
from app.cli.errors import Exit
from app.cli.options import AsJson, Order

running = typer.Typer()
upkeep = typer.Typer()
db = typer.Typer(help="The database's schema.", no_args_is_help=True)
upkeep.add_typer(db, name="db")
health = typer.Typer(help="What health checks of containers ask.", no_args_is_help=True)
upkeep.add_typer(health, name="health")


@running.command("run")
def run_(
    motion: Annotated[str, typer.Argument(help="What is to be debated.")],
    rounds: Annotated[int, typer.Option(help="How many rounds.", min=1, max=10_000)] = 3,
    player: Annotated[
        str | None, typer.Option(help="Who fills every seat not named otherwise.", autocompletion=completion.players)
    ] = None,
    proposer: Annotated[
        str | None, typer.Option(help="Who argues for the motion.", autocompletion=completion.players)
    ] = None,
    opponent: Annotated[
        str | None, typer.Option(help="Who argues against it.", autocompletion=completion.players)
    ] = None,
    arbitrator: Annotated[str | None, typer.Option(help="Who judges.", autocompletion=completion.players)] = None,
    think: Annotated[float | None, typer.Option(help="Seconds that scripted players pretend to think.", min=0)] = None,
    judge_order: Annotated[
        Order | None, typer.Option(help="The order in which a model that judges is shown the two sides.")
    ] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="Stop when the models have cost this much.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold a whole debate and follow it to its verdict.

    Brings up Postgres, Valkey, an API and a worker of its own when no server answers. Seats are filled by scripted
    players, by models such as openai:gpt-5-mini, or by local, a small model that needs no key.

    Example: debate run "Cities should ban private cars from their centres" --rounds 2 --think 1
    """
    from app.cli.run import RunOptions, run_debate
    from app.settings import settings_or_exit

    settings = settings_or_exit()
    default = player or settings.default_player
    seats = {"proposer": proposer or default, "opponent": opponent or default, "arbitrator": arbitrator or default}
    run_debate(settings, RunOptions(motion, rounds, seats, think, as_json, judge_order, max_cost_usd))


@running.command()
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


@running.command()
def api() -> None:
    """Run one API server, for real deployments.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate api
    """
    from app.cli.serve import api as serve_api
    from app.settings import settings_or_exit

    serve_api(settings_or_exit())


@running.command()
def worker() -> None:
    """Run one worker process, for real deployments. Start as many as you like, anywhere.

    Example: DEBATE_DATABASE_URL=postgresql://… DEBATE_REDIS_URL=redis://… debate worker
    """
    from app.cli.serve import worker as serve_worker
    from app.settings import settings_or_exit

    serve_worker(settings_or_exit())


@upkeep.command()
def doctor(
    player: Annotated[
        str | None,
        typer.Option(
            help="Also try this player out with one tiny call, such as openai:gpt-5-mini.",
            autocompletion=completion.players,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check each part, and say what to do about what is wrong.

    Example: debate doctor --player openai:gpt-5-mini
    """
    from app.cli.doctor import doctor as examine
    from app.settings import settings_or_exit

    if not examine(settings_or_exit(), as_json, player):
        raise typer.Exit(Exit.ERROR)


@upkeep.command()
def repair(as_json: AsJson = False) -> None:
    """Recompute every debate's cursor from its turns, and show what changed.

    Example: debate repair
    """
    from app.cli.database import repair as repair_cursors
    from app.settings import settings_or_exit

    repair_cursors(settings_or_exit(), as_json)


@upkeep.command()
def prune(
    older_than: Annotated[str, typer.Option(help="How long ago they must have been touched last, such as 90d or 12h.")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete them. [only say what would go]")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete debates that ended long ago, with everything said in them. Without --yes it only says what would go.

    Example: debate prune --older-than 90d
    """
    from app.cli.pruning import prune_debates
    from app.settings import settings_or_exit

    prune_debates(settings_or_exit(), older_than, yes, as_json)


@upkeep.command()
def refused(
    requeue: Annotated[bool, typer.Option("--requeue", help="Put them back into their queues.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Throw them away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tasks that workers refused because they did not understand them, the newest first.

    Example: debate refused --requeue
    """
    from app.cli.refused import refused as show_refused
    from app.settings import settings_or_exit

    show_refused(settings_or_exit(), requeue, forget, as_json)


@db.command()
def upgrade() -> None:
    """Bring the database to the newest schema.

    Example: debate db upgrade
    """
    from app.cli.database import upgrade as upgrade_schema
    from app.settings import settings_or_exit

    upgrade_schema(settings_or_exit())


@health.command("api")
def health_of_api() -> None:
    """Does the API of this machine answer? For the health check of a container.

    Example: debate health api
    """
    from app.cli.health import check_api
    from app.settings import settings_or_exit

    check_api(settings_or_exit())


@health.command("worker")
def health_of_worker() -> None:
    """Was a worker of this machine seen by the database within seconds? For the health check of a container.

    Example: debate health worker
    """
    from app.cli.health import check_worker
    from app.settings import settings_or_exit

    check_worker(settings_or_exit())
