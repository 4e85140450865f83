"""`debate experiment init`, `plan`, `run` and `watch`: from a file to its results."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import output
from app.cli.command import AsJson, CommandResult, Commands, print_result
from app.cli.errors import CommandFailed, Exit, Interrupted
from app.cli.experiment.named import EXPERIMENTS, ExperimentId, ending_of, path_of
from app.cli.options import confirm, connect, read_settings
from app.words.money import cost, cost_in_list
from app.words.times import time_left

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.cli.experiment.files import ExperimentFile

commands = Commands()
MAX_MOTIONS = 1000
MAX_BYTES = 7_000_000
"""The server accepts 1,000 motions and 8 MB in one request."""
POLL_SECONDS = 1.0
OVER = ("completed", "stopped", "paused")

File = Annotated[Path, typer.Argument(help="The experiment's file (YAML).", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost only.")]


@commands.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to create.")] = Path("experiment"),
) -> CommandResult:
    """Write an example: a commented experiment.yaml and ten motions. It needs no key.

    Example: debate experiment init demo
    """
    from app.cli.experiment.example import EXPERIMENT, motion_lines

    files = {
        "experiment.yaml": EXPERIMENT.replace("NAME", folder.resolve().name or "demo"),
        "motions.jsonl": motion_lines(),
    }
    for name in files:
        if (folder / name).exists():
            raise output.already_exists(folder / name, "Choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise CommandFailed(f"{folder} cannot be written: {problem.strerror}") from problem
    written = [str(folder / name) for name in files]
    run_it = f"Run it: {output.program()} experiment run {folder / 'experiment.yaml'}"
    return CommandResult({"files": written}, [f"Written: {', '.join(written)}", run_it])


@commands.command()
def plan(
    which: Annotated[str, typer.Argument(help="An experiment's file, id or name.", show_default=False)],
    as_json: AsJson = False,
) -> CommandResult | None:
    """Show the planned matches, calls, tokens, cost and time of an experiment. Starts nothing.

    Example: debate experiment plan demo/experiment.yaml
    """
    if Path(which).suffix in (".yaml", ".yml"):
        return run(Path(which), dry_run=True, as_json=as_json)
    api = connect()
    return _plan_shown(api.get(f"{path_of(api, which)}/plan")["plan"])


@commands.command()
def run(file: File, yes: Yes = False, dry_run: DryRun = False, as_json: AsJson = False) -> CommandResult | None:
    """Run an experiment and follow it to its results.

    Shows the cost and asks before it starts. Ctrl-C stops following, not the experiment. Run the same command again to
    continue; after you add motions, arms, contestants, judges or repeats to the file, only new matches run. If no
    server responds, it starts Postgres, Valkey, an API and a worker until this command ends.

    Example: debate experiment run demo/experiment.yaml --yes
    """
    from app.cli.experiment.files import read_experiment
    from app.cli.formats import add_format
    from app.cli.run import server
    from app.cli.stack import install_if_local

    read = read_experiment(file)
    players = () if dry_run else read.spec.players.values()
    install_if_local(*players)
    with server(read_settings(), as_json, players) as (api, check):
        for schedule in read.formats:
            add_format(api, schedule)
        if dry_run:
            return _plan_shown(_plan(api, read))
        experiment = _draft(api, read)
        path = f"{EXPERIMENTS}/{experiment['id']}"
        planned = api.get(f"{path}/plan")["plan"]
        if not as_json:
            output.note(f"Page: {api.shown_url}{path}/view")
        if not planned["matches"] and not planned["judgments"]:
            output.note("Nothing is left to run.")
        elif experiment["status"] != "running":
            if not as_json:
                print_result(_plan_shown(planned), as_json)
            if not yes:
                confirm("Starting", lambda: "Start it?", "Not started", Exit.ERROR)
        api.post(f"{path}/start", repeatable=True)
        try:
            experiment = _follow(api, path, as_json, check)
        except Interrupted:
            output.note(f"\nNo longer following. To follow it again: {output.program()} experiment run {file}")
            raise
        _finish(api, path, experiment, as_json)
    return None


def _plan(api: "Api", read: "ExperimentFile") -> output.Json:
    """The plan of the file. Creates no experiment."""
    from app.core.experiments.plan import planned_motion

    motions = [planned_motion(motion)._asdict() for motion in read.motions]
    with _refusals_with_lines(read):
        planned: output.Json = api.post(
            f"{EXPERIMENTS}/plan", {"spec": read.document, "motions": motions}, repeatable=True
        )["plan"]
    return planned


@contextlib.contextmanager
def _refusals_with_lines(read: "ExperimentFile") -> Iterator[None]:
    """Adds the line of the file to an error of the server."""
    try:
        yield
    except CommandFailed as refused:
        line = read.line_of_field(refused.field) if refused.field else None
        if line is None:
            raise
        raise CommandFailed(
            f"{read.path}, line {line}: {refused.message}", refused.exit_code, refused.suggestion
        ) from None


def _draft(api: "Api", read: "ExperimentFile") -> output.Json:
    """The experiment of this name, created or extended, with all motions."""
    with _refusals_with_lines(read):
        experiment: output.Json = api.post(EXPERIMENTS, read.document, repeatable=True)["experiment"]
    for lines in in_parts([json.dumps(motion.as_json(), ensure_ascii=False) for motion in read.motions]):
        api.post_content(f"{EXPERIMENTS}/{experiment['id']}/motions", lines, "application/x-ndjson")
    return experiment


def in_parts(lines: list[str]) -> Iterator[bytes]:
    """As many lines in each part as fit into a request."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        data = line.encode() + b"\n"
        if part and (len(part) == MAX_MOTIONS or size + len(data) > MAX_BYTES):
            yield b"".join(part)
            part, size = [], 0
        part.append(data)
        size += len(data)
    if part:
        yield b"".join(part)


def _plan_shown(planned: output.Json) -> CommandResult:
    figures = {
        "debates": f"{planned['matches']:,}",
        "their calls": f"{planned['debate_calls']:,}",
        "judgments": f"{planned['judgments']:,}",
        "tokens": f"{planned['expected_tokens']:,} expected",
        "cost": f"{cost(planned['expected_usd'])} expected{_between(planned)}, {cost(planned['at_most_usd'])} at most",
        "budget": "none" if planned["budget_usd"] is None else cost(planned["budget_usd"]),
        "time": f"about {time_left(planned['seconds'])}, with {planned['concurrency']:,} concurrent debates",
    }
    return CommandResult(planned, [f"{name:<15}{figure}" for name, figure in figures.items()])


def _between(planned: output.Json) -> str:
    low, high = planned.get("low_usd"), planned.get("high_usd")
    return f" ({cost(low)} to {cost(high)})" if low != high else ""


def _follow(api: "Api", path: str, quiet: bool, check: Callable[[], None]) -> output.Json:
    """Until the experiment ends or is paused."""
    with _bar(quiet) as show:
        judgments = 0
        while True:
            experiment: output.Json = api.get(path)["experiment"]
            if experiment["status"] in OVER:
                show(progress_of(experiment, judgments), progress_words(experiment, judgments))
                return experiment
            judgments = judgments or _judgments_planned(api, path, experiment)
            show(progress_of(experiment, judgments), progress_words(experiment, judgments))
            check()
            time.sleep(POLL_SECONDS)


def _judgments_planned(api: "Api", path: str, experiment: output.Json) -> int:
    """Also those of debates that still run, which the progress lacks."""
    counts = experiment["progress"]["judgments"]
    left: int = api.get(f"{path}/plan")["plan"]["judgments"]
    return left + int(counts["completed"])


def _counts(experiment: output.Json, judgments: int) -> dict[str, tuple[int, int, int]]:
    """Completed, failed and all, of debates and of judgments."""
    found = {}
    for name, what, planned in (("debates", "matches", 0), ("judgments", "judgments", judgments)):
        counts = experiment["progress"][what]
        found[name] = counts["completed"], counts["failed"], max(sum(counts.values()), planned)
    return found


def progress_of(experiment: output.Json, judgments: int) -> tuple[int, int]:
    """Done and all, of debates and judgments together. `judgments` are planned."""
    counts = _counts(experiment, judgments).values()
    return sum(completed + failed for completed, failed, _ in counts), sum(all_ for _, _, all_ in counts)


def progress_words(experiment: output.Json, judgments: int) -> str:
    left = (experiment.get("estimate") or {}).get("seconds_left")
    parts = [
        f"{completed:,} of {all_:,} {name}{f' ({failed:,} failed)' if failed else ''}"
        for name, (completed, failed, all_) in _counts(experiment, judgments).items()
    ]
    parts.append(cost_in_list(experiment["cost_usd"]))
    return ", ".join([*parts, *([] if left is None else [f"{time_left(left)} left"])])


Show = Callable[[tuple[int, int], str], None]


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator[Show]:
    """A bar in a terminal; elsewhere a line on stderr for each tenth."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from app.cli.show import err

    if quiet or not err.is_terminal:
        yield _tenths(quiet)
        return
    with Progress(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), console=err) as bar:
        task = bar.add_task("", total=None)

        def show(progress: tuple[int, int], words: str) -> None:
            bar.update(task, completed=progress[0], total=progress[1] or None, description=words)

        yield show


def _tenths(quiet: bool) -> Show:
    last = -1

    def show(progress: tuple[int, int], words: str) -> None:
        nonlocal last
        done, all_ = progress
        tenth = 10 * done // all_ if all_ else 0
        if tenth > last and not quiet:
            output.note(words)
        last = max(last, tenth)

    return show


def _finish(api: "Api", path: str, experiment: output.Json, as_json: bool) -> None:
    from app.cli.experiment.tables import results_text

    found = api.get(f"{path}/results")["results"]
    note = f"\nThe experiment is {ending_of(experiment)}. Its id: {experiment['id']}"
    print_result(CommandResult({"experiment": experiment, "results": found}, results_text(found), note=note), as_json)
    if experiment["status"] == "stopped":
        raise CommandFailed(
            f"The experiment is {ending_of(experiment)}",
            suggestion=experiment.get("stop_note") or "To continue, run it again or resume it",
        )


@commands.command()
def watch(experiment: ExperimentId, as_json: AsJson = False) -> None:
    """Follow a running experiment to its results.

    Example: debate experiment watch demo
    """
    api = connect(patient=True)
    path = path_of(api, experiment.which)
    _finish(api, path, _follow(api, path, as_json, lambda: None), as_json)
