"""Lists and shows experiments, and steers them: pause, resume, stop, retry-failed, judge, invite, delete."""

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from app.cli import output
from app.cli.experiment.named import Named, each, path_of
from app.cli.options import AsJson, confirm, connect, in_seconds
from app.words.counts import count
from app.words.experiments import done
from app.words.money import cost, of_budget
from app.words.times import time_left

commands = typer.Typer()


@commands.command("list")
def list_(as_json: AsJson = False) -> None:
    """List experiments, the latest first.

    Example: debate experiment list
    """
    found = each(connect())
    nothing = f"No experiments yet. Write an example: {output.program()} experiment init demo"
    output.answer({"experiments": found}, as_json, _table(found) if found else [], nothing)


def _table(found: list[output.Json]) -> Iterator[str]:
    from app.cli.experiment.run import ending
    from app.cli.experiment.tables import table
    from app.cli.show import shortest_unique

    digits = shortest_unique([one["id"] for one in found])
    rows = [
        (
            one["name"],
            ending(one),
            done(one["progress"]["matches"]),
            cost(one["cost_usd"]),
            one["id"][:digits],
        )
        for one in found
    ]
    return table(("name", "status", "debates", "cost", "id"), rows, left=2)


@commands.command()
def show(which: Named, as_json: AsJson = False) -> None:
    """Show an experiment: its progress by status, what it cost, and what is left.

    Example: debate experiment show demo
    """
    from app.cli.experiment.run import ending
    from app.cli.experiment.tables import table

    api = connect()
    experiment = api.get(path_of(api, which))["experiment"]
    statuses = ("planned", "running", "completed", "failed")
    rows = [
        (what, *(str(counts.get(status, 0)) for status in statuses))
        for what, counts in experiment["progress"].items()
        if what != "debates"
    ]
    left = (experiment.get("estimate") or {}).get("seconds_left")
    lines = [
        f"{experiment['name']}  {ending(experiment)}  {experiment['id']}",
        *([experiment["stop_note"]] if experiment.get("stop_note") else []),
        *table(("", *statuses), rows),
        f"Cost so far: {of_budget(experiment['cost_usd'], experiment.get('budget_usd'))}",
        *([] if left is None else [f"Time left: about {time_left(left)}"]),
    ]
    output.answer(experiment, as_json, lines)


def _act(which: str, action: str, as_json: bool) -> None:
    from app.cli.experiment.run import ending

    api = connect()
    experiment = api.post(f"{path_of(api, which)}/{action}", repeatable=True)["experiment"]
    output.answer(experiment, as_json, [f"{experiment['name']} is {ending(experiment)}."])


@commands.command()
def pause(which: Named, as_json: AsJson = False) -> None:
    """Pause an experiment: no new debates begin. Those under way are finished and judged.

    Example: debate experiment pause demo
    """
    _act(which, "pause", as_json)


@commands.command()
def resume(which: Named, as_json: AsJson = False) -> None:
    """Resume a paused experiment.

    Example: debate experiment resume demo
    """
    _act(which, "resume", as_json)


@commands.command()
def stop(which: Named, as_json: AsJson = False) -> None:
    """Stop an experiment. Finished debates are kept; `debate experiment run` continues it.

    Example: debate experiment stop demo
    """
    _act(which, "stop", as_json)


@commands.command("retry-failed")
def retry_failed(which: Named, as_json: AsJson = False) -> None:
    """Try only the failed matches and judgments again.

    Example: debate experiment retry-failed demo
    """
    api = connect()
    data = api.post(f"{path_of(api, which)}/retry-failed", repeatable=True)
    tried = f"{data['count']:,} failed matches and judgments are tried again."
    output.answer(data, as_json, [tried if data["count"] else "Nothing has failed."])


@commands.command()
def judge(
    which: Named,
    player: Annotated[str, typer.Option(help="The player that judges, such as openai:gpt-5.")],
    name: Annotated[str | None, typer.Option(help="The judge's name in the results. [default: the player]")] = None,
    orders: Annotated[
        Literal["as_spoken", "swapped", "both"], typer.Option(help="The order in which the judge reads the two sides.")
    ] = "both",
    repeats: Annotated[int, typer.Option(help="How often it is asked in each order.", min=1, max=100)] = 1,
    as_json: AsJson = False,
) -> None:
    """Have the finished debates judged by one more judge. Nothing is debated again.

    Example: debate experiment judge demo --player openai:gpt-5 --name big
    """
    api = connect()
    body = {"judges": [{"name": name or player, "player": player, "orders": orders, "repeats": repeats}]}
    data = api.post(f"{path_of(api, which)}/judges", body, repeatable=True)
    said = f"{name or player} judges. Follow it: {output.program()} experiment watch {which}"
    output.answer(data, as_json, [said])


@commands.command()
def invite(
    which: Named,
    name: Annotated[str, typer.Option(help="The person's name; judgments are stored under person:<name>.")],
    expires_in_hours: Annotated[
        float | None, typer.Option(help="How long the link can be used. [default: a week]", min=0.01, max=8760)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a link that lets one person judge the debates blind in a browser, and nothing else.

    Example: debate experiment invite demo --name ana
    """
    api = connect()
    body = {"name": name, "expires_in_seconds": in_seconds(expires_in_hours)}
    made = api.post(f"{path_of(api, which)}/invitations", output.given(body))
    output.answer(made, as_json, [made["url"]])
    if not as_json:
        output.note(f"For {made['judge']}. It is shown only now, and is valid until {made['expires_at']}")


@commands.command()
def delete(
    which: Named,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an experiment with its debates and judgments.

    Example: debate experiment delete demo --yes
    """
    api = connect()
    path = path_of(api, which)
    experiment = api.get(path)["experiment"]
    if not yes:
        held = count(sum(experiment["progress"]["matches"].values()), "debate")
        confirm("Deleting", lambda: f"Delete {experiment['name']} and its {held}?", "Nothing was deleted")
    output.answer(api.delete(path), as_json, [f"{experiment['name']} is deleted."])
