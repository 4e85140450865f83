"""How commands are declared: options that several share, and one result for programs and for people."""

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar

import typer

from app.cli import output
from app.cli.help import WholeSummaries

Function = TypeVar("Function", bound=Callable[..., Any])
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
_JSON = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)


@dataclass(frozen=True)
class CommandResult:
    """The result of a command. --json prints the document only."""

    document: Any
    lines: Iterable[str] = ()
    """For a person. A generator does not run under --json: a newer server may return values it cannot describe."""
    nothing: str | None = None
    """The note where there are no lines."""
    note: str | None = None
    """Printed after the lines, on stderr."""


class Commands(typer.Typer):
    """Commands, or with a name a group of them.

    A parameter whose type is a dataclass becomes one option for each field. A command that returns a result has
    the option --json."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"cls": WholeSummaries, "no_args_is_help": True, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            super(Commands, self).command(name, **options)(_expanded(function))
            return function

        return decorate


def _expanded(function: Callable[..., Any]) -> Callable[..., None]:
    """The function as Typer needs it: without groups of options, and with --json."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }
    parameters: dict[str, inspect.Parameter] = {}
    for name, own in signature.parameters.items():
        options = inspect.signature(groups[name]).parameters.values() if name in groups else [own]
        # What has no default may follow what has one.
        parameters |= {each.name: each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options}
    takes_json = "as_json" in parameters
    if signature.return_annotation is CommandResult and not takes_json:
        parameters["as_json"] = _JSON

    @functools.wraps(function)
    def command(**given: Any) -> None:
        as_json = given["as_json"] if takes_json else given.pop("as_json", False)
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        result = function(**given)
        if isinstance(result, CommandResult):
            print_result(result, as_json)

    of_typer: Any = command
    of_typer.__signature__ = inspect.Signature(list(parameters.values()))
    of_typer.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    return command


def print_result(result: CommandResult, as_json: bool) -> None:
    if as_json:
        output.print_json(result.document)
        return
    is_any = False
    for line in result.lines:
        is_any = True
        output.say(line)
    if result.nothing and not is_any:
        output.note(result.nothing)
    if result.note:
        output.note(result.note)
