"""`debate experiment init`, `plan` and `run`: from a file to its results."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import output
from app.cli.errors import CommandFailed, Exit, Interrupted
from app.cli.experiment.named import EXPERIMENTS, Named, path_of
from app.cli.options import AsJson, confirm, connect, read_settings
from app.words import experiments as about
from app.words.money import cost
from app.words.times import time_left

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.cli.experiment.files import ExperimentFile

commands = typer.Typer()
MOTIONS_AT_ONCE = 1000
BYTES_AT_ONCE = 7_000_000
"""A request takes at most 1,000 motions and 8 MB."""
LOOK_SECONDS = 1.0
OVER = ("completed", "stopped", "paused")

File = Annotated[Path, typer.Argument(help="The experiment's file (YAML).", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost; make and start nothing.")]


@commands.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")] = Path("experiment"),
    as_json: AsJson = False,
) -> None:
    """Write an example: a commented experiment.yaml and ten motions. It runs at once and needs no key.

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
    output.answer({"files": written}, as_json, [f"Written: {', '.join(written)}", run_it])


@commands.command()
def plan(
    which: Annotated[str, typer.Argument(help="An experiment's file, id or name.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show the matches, calls, tokens, cost and time of an experiment, and start nothing.

    Example: debate experiment plan demo/experiment.yaml
    """
    if Path(which).suffix in (".yaml", ".yml"):
        run(Path(which), dry_run=True, as_json=as_json)
        return
    api = connect()
    _show_plan(api.get(f"{path_of(api, which)}/plan")["plan"], as_json)


@commands.command()
def run(file: File, yes: Yes = False, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Run an experiment and follow it to its results.

    Shows what it will cost and asks before it starts. Ctrl-C stops following, not the experiment. Run the same command
    again to continue; after you add motions, arms, contestants, judges or repeats to the file, it runs only what is
    new. When no server answers it starts Postgres, Valkey, an API and a worker, and the experiment continues only while
    this command runs.

    Example: debate experiment run demo/experiment.yaml --yes
    """
    from app.cli.experiment.files import read_experiment
    from app.cli.run import server
    from app.cli.stack import install_if_local

    read = read_experiment(file)
    if not dry_run:
        install_if_local(*read.spec.players.values())
    with server(read_settings(), as_json, () if dry_run else read.spec.players.values()) as (api, check):
        if dry_run:
            _show_plan(_plan(api, read), as_json)
            return
        experiment = _draft(api, read)
        path = f"{EXPERIMENTS}/{experiment['id']}"
        planned = api.get(f"{path}/plan")["plan"]
        if not planned["matches"] and not planned["judgments"]:
            output.note("Nothing is left to run.")
        elif experiment["status"] != "running":
            if not as_json:
                _show_plan(planned, as_json)
            if not yes:
                confirm("Starting", lambda: "Start it?", "Not started", Exit.ERROR)
        api.post(f"{path}/start", repeatable=True)
        try:
            experiment = _follow(api, path, as_json, check)
        except Interrupted:
            output.note(f"\nNo longer following. See it again: {output.program()} experiment run {file}")
            raise
        _finish(api, path, experiment, as_json)


def _plan(api: "Api", read: "ExperimentFile") -> output.Json:
    """Of the file, without making the experiment."""
    from app.core.experiments.plan import planned_motion

    motions = [planned_motion(motion)._asdict() for motion in read.motions]
    with _refusals_with_lines(read):
        planned: output.Json = api.post(
            f"{EXPERIMENTS}/plan", {"spec": read.document, "motions": motions}, repeatable=True
        )["plan"]
    return planned


@contextlib.contextmanager
def _refusals_with_lines(read: "ExperimentFile") -> Iterator[None]:
    """What the server refuses of a file is said with its line."""
    try:
        yield
    except CommandFailed as refused:
        line = read.line_of_field(refused.field) if refused.field else None
        if line is None:
            raise
        words = f"{read.path}, line {line}: {refused.message}"
        raise CommandFailed(words, refused.exit_code, refused.suggestion) from None


def _draft(api: "Api", read: "ExperimentFile") -> output.Json:
    """The experiment of this name, made or extended, with all motions."""
    with _refusals_with_lines(read):
        experiment: output.Json = api.post(EXPERIMENTS, read.document, repeatable=True)["experiment"]
    for lines in in_parts([json.dumps(motion.as_json(), ensure_ascii=False) for motion in read.motions]):
        api.post_content(f"{EXPERIMENTS}/{experiment['id']}/motions", lines, "application/x-ndjson")
    return experiment


def in_parts(lines: list[str]) -> Iterator[bytes]:
    """As many lines in each part as a request takes."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        data = line.encode() + b"\n"
        if part and (len(part) == MOTIONS_AT_ONCE or size + len(data) > BYTES_AT_ONCE):
            yield b"".join(part)
            part, size = [], 0
        part.append(data)
        size += len(data)
    if part:
        yield b"".join(part)


def _show_plan(planned: output.Json, as_json: bool) -> None:
    figures = {
        "debates": f"{planned['matches']:,}",
        "their calls": f"{planned['debate_calls']:,}",
        "judgments": f"{planned['judgments']:,}",
        "tokens": f"{planned['expected_tokens']:,} expected",
        "cost": f"{cost(planned['expected_usd'])} expected{_between(planned)}, {cost(planned['at_most_usd'])} at most",
        "budget": "none" if planned["budget_usd"] is None else cost(planned["budget_usd"]),
        "time": f"about {time_left(planned['seconds'])}, with {planned['concurrency']:,} debates at once",
    }
    output.answer(planned, as_json, [f"{name:<15}{figure}" for name, figure in figures.items()])


def _between(planned: output.Json) -> str:
    low, high = planned.get("low_usd"), planned.get("high_usd")
    return f" ({cost(low)} to {cost(high)})" if low != high else ""


def _follow(api: "Api", path: str, quiet: bool, check: Callable[[], None]) -> output.Json:
    """Until it is over, or waits for a person."""
    with _bar(quiet) as show:
        while True:
            experiment: output.Json = api.get(path)["experiment"]
            show(experiment)
            if experiment["status"] in OVER:
                return experiment
            check()
            time.sleep(LOOK_SECONDS)


def progress_of(experiment: output.Json) -> tuple[int, int]:
    """Done and all, of debates and judgments together."""
    counts = [experiment["progress"][what] for what in ("matches", "judgments")]
    done = sum(count["completed"] + count["failed"] for count in counts)
    return done, sum(sum(count.values()) for count in counts)


def progress_words(experiment: output.Json) -> str:
    left = (experiment.get("estimate") or {}).get("seconds_left")
    said = [f"debates {about.done(experiment['progress']['matches'])}", f"cost {cost(experiment['cost_usd'])}"]
    return "  ".join([*said, *([] if left is None else [f"{time_left(left)} left"])])


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[output.Json], None]]:
    """A bar where a person looks; a line on stderr for each tenth elsewhere."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from app.cli.show import err

    if quiet or not err.is_terminal:
        yield _tenths(quiet)
        return
    with Progress(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), console=err) as bar:
        task = bar.add_task("", total=None)

        def show(experiment: output.Json) -> None:
            done, all_ = progress_of(experiment)
            bar.update(task, completed=done, total=all_ or None, description=progress_words(experiment))

        yield show


def _tenths(quiet: bool) -> Callable[[output.Json], None]:
    last = -1

    def show(experiment: output.Json) -> None:
        nonlocal last
        done, all_ = progress_of(experiment)
        tenth = 10 * done // all_ if all_ else 0
        if tenth > last and not quiet:
            output.note(progress_words(experiment))
        last = max(last, tenth)

    return show


def _finish(api: "Api", path: str, experiment: output.Json, as_json: bool) -> None:
    from app.cli.experiment.tables import results_text

    found = api.get(f"{path}/results")["results"]
    output.answer({"experiment": experiment, "results": found}, as_json, results_text(found))
    if not as_json:
        output.note(f"\nThe experiment is {ending(experiment)}. Its id: {experiment['id']}")
    if experiment["status"] == "stopped":
        raise CommandFailed(
            f"The experiment is {ending(experiment)}",
            suggestion=experiment.get("stop_note") or "To continue, run it again or resume it",
        )


def ending(experiment: output.Json) -> str:
    return about.ending(experiment["status"], experiment.get("stop_reason"))


@commands.command()
def watch(which: Named, as_json: AsJson = False) -> None:
    """Follow an experiment that is under way to its results.

    Example: debate experiment watch demo
    """
    api = connect(patient=True)
    path = path_of(api, which)
    _finish(api, path, _follow(api, path, as_json, lambda: None), as_json)
