"""`debate refused`: the tasks that workers did not understand."""

from dataclasses import asdict

from app.bootstrap import build_services, close_services
from app.cli import show
from app.cli.errors import CommandFailed, Exit
from app.cli.stack import Servers
from app.logs import configure_logs
from app.queue import QueueUnavailable
from app.refused import RefusedTask, RefusedTasks
from app.settings import Settings

_SHOWN = 400


def refused(settings: Settings, requeue: bool, forget: bool, as_json: bool) -> None:
    if requeue and forget:
        raise CommandFailed("--requeue and --forget exclude each other", Exit.USAGE)
    configure_logs("error")
    with Servers(settings) as complete:
        services = build_services(complete, name="debate-refused", database_connections=1)
        try:
            if requeue or forget:
                _change(services.refused, requeue, as_json)
            else:
                _list(services.refused.all(), as_json)
        except QueueUnavailable as problem:
            raise CommandFailed(f"The queue does not answer: {problem}") from problem
        finally:
            close_services(services)


def _change(kept: RefusedTasks, requeue: bool, as_json: bool) -> None:
    name, count = ("requeued", kept.requeue()) if requeue else ("forgotten", kept.forget())
    if as_json:
        show.print_json({name: count})
    else:
        show.out.print(f"{count} {name}.")


def _list(tasks: list[RefusedTask], as_json: bool) -> None:
    if as_json:
        show.print_json({"refused": [_shown(task) for task in tasks]})
        return
    for task in tasks:
        show.out.print(f"{task.refused_at}  {task.queue}  {show.safe(task.reason)}", soft_wrap=True)
        show.out.print(f"  [dim]{show.safe(_shown(task)['message'][:_SHOWN])}[/]", soft_wrap=True)
    if not tasks:
        show.out.print("No task was refused.")


def _shown(task: RefusedTask) -> dict[str, str]:
    """Bytes that are no text are shown as \\x.., for a terminal and JSON take text only."""
    raw = task.message.encode("utf-8", "surrogateescape")
    return {**asdict(task), "message": raw.decode("utf-8", "backslashreplace")}
