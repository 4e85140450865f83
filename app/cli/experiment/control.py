"""Lists, shows and controls experiments: pause, resume, stop, retry-failed, judge, invite, delete."""

from typing import Annotated, Literal

import typer

from app.cli import options, output
from app.cli.command import CommandResult, Commands
from app.cli.experiment.named import EXPERIMENTS, ExperimentId, ending_of
from app.cli.options import confirm, connect, in_seconds
from app.words.counts import count
from app.words.experiments import done
from app.words.money import cost, of_budget
from app.words.times import time_left

commands = Commands()


@commands.command("list")
def list_() -> CommandResult:
    """List experiments, the latest first.

    Example: debate experiment list
    """
    from app.cli.experiment.tables import table
    from app.cli.show import shortest_unique

    found = list(connect().pages(EXPERIMENTS, "experiments"))
    digits = shortest_unique([one["id"] for one in found])
    rows = [
        (one["name"], ending_of(one), done(one["progress"]["matches"]), cost(one["cost_usd"]), one["id"][:digits])
        for one in found
    ]
    lines = table(("name", "status", "debates", "cost", "id"), rows, left=2) if rows else ()
    nothing = f"No experiments yet. Write an example: {output.program()} experiment init demo"
    return CommandResult({"experiments": found}, lines, nothing)


@commands.command()
def show(experiment: ExperimentId) -> CommandResult:
    """Show an experiment: its progress by status, its cost, and the time left.

    Example: debate experiment show demo
    """
    from app.cli.experiment.tables import table

    found = experiment.get()
    statuses = ("planned", "running", "completed", "failed")
    rows = [
        (what, *(str(counts.get(status, 0)) for status in statuses))
        for what, counts in found["progress"].items()
        if what != "debates"
    ]
    left = (found.get("estimate") or {}).get("seconds_left")
    lines = [
        f"{found['name']}  {ending_of(found)}  {found['id']}",
        *([found["stop_note"]] if found.get("stop_note") else []),
        *table(("", *statuses), rows),
        f"Cost so far: {of_budget(found['cost_usd'], found.get('budget_usd'))}",
        *([f"Time left: about {time_left(left)}"] if left else []),
    ]
    return CommandResult(found, lines)


def _change(which: ExperimentId, action: str) -> CommandResult:
    experiment = which.post(action)["experiment"]
    return CommandResult(experiment, [f"{experiment['name']} is {ending_of(experiment)}."])


@commands.command()
def pause(experiment: ExperimentId) -> CommandResult:
    """Pause an experiment. Its running debates finish and are judged.

    Example: debate experiment pause demo
    """
    return _change(experiment, "pause")


@commands.command()
def resume(experiment: ExperimentId) -> CommandResult:
    """Resume a paused experiment.

    Example: debate experiment resume demo
    """
    return _change(experiment, "resume")


@commands.command()
def stop(experiment: ExperimentId) -> CommandResult:
    """Stop an experiment. Finished debates are kept; `debate experiment run` continues it.

    Example: debate experiment stop demo
    """
    return _change(experiment, "stop")


@commands.command("retry-failed")
def retry_failed(experiment: ExperimentId) -> CommandResult:
    """Retry the failed matches and judgments only.

    Example: debate experiment retry-failed demo
    """
    data = experiment.post("retry-failed")
    retried = f"Retrying {data['count']:,} failed matches and judgments."
    return CommandResult(data, [retried if data["count"] else "Nothing has failed."])


@commands.command()
def judge(
    experiment: ExperimentId,
    player: Annotated[str, typer.Option(help="The player that judges, such as openai:gpt-5.")],
    name: Annotated[str | None, typer.Option(help="The judge's name in the results. [default: the player]")] = None,
    orders: Annotated[
        Literal["as_spoken", "swapped", "both"], typer.Option(help="The order in which the judge reads the two sides.")
    ] = "both",
    repeats: Annotated[int, typer.Option(help="The number of judgments in each order.", min=1, max=100)] = 1,
    beliefs: Annotated[
        bool, typer.Option("--beliefs", help="Also judge before any speech and after each round.")
    ] = False,
) -> CommandResult:
    """Add a judge to the finished debates. No debate runs again.

    Example: debate experiment judge demo --player openai:gpt-5 --name big
    """
    asked = {"name": name or player, "player": player, "orders": orders, "repeats": repeats}
    body = {"judges": [{**asked, "beliefs": True} if beliefs else asked]}
    data = experiment.post("judges", body)
    watch = f"{output.program()} experiment watch {experiment.which}"
    return CommandResult(data, [f"{name or player} judges. Follow its progress: {watch}"])


@commands.command()
def invite(
    experiment: ExperimentId,
    name: Annotated[str, typer.Option(help="The person's name; judgments are stored under person:<name>.")],
    expires_in_hours: options.ExpiresInHours = None,
) -> CommandResult:
    """Print a link with which one person can judge the debates blind in a browser. It gives no other access.

    Example: debate experiment invite demo --name ana
    """
    body = output.given({"name": name, **in_seconds(expires_in_hours)})
    made = experiment.api.post(f"{experiment.path}/invitations", body)
    note = f"For {made['judge']}. It is shown only once, and is valid until {made['expires_at']}"
    return CommandResult(made, [made["url"]], note=note)


@commands.command()
def delete(
    experiment: ExperimentId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> CommandResult:
    """Delete an experiment with its debates and judgments.

    Example: debate experiment delete demo --yes
    """
    found = experiment.get()
    if not yes:
        debates = count(sum(found["progress"]["matches"].values()), "debate")
        confirm("Deleting", lambda: f"Delete {found['name']} and its {debates}?", "Nothing was deleted")
    return CommandResult(experiment.api.delete(experiment.path), [f"{found['name']} is deleted."])
