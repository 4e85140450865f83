"""The moves in a debate: `debate submit`, `appeal`, `request-completion`, `intervention`, `question` and `ruling`."""

import functools
import inspect
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from uuid import UUID

import typer

from app.cli import options, output, words
from app.cli.content import checked, content_of, optional_content_of
from app.cli.errors import CommandFailed, Exit, ServerUnavailable
from app.cli.options import AsJson, DebateId, NamedDebateId, connect, id_of

if TYPE_CHECKING:
    from app.cli.client import Api

commands = typer.Typer()
SEARCHED_ARGUMENTS = 100
"""How many of the latest arguments are searched for one that was stored with the same client_request_id."""


@dataclass(frozen=True)
class Given:
    """What every move is given: which debate, the text, and how to answer."""

    debate_id: str
    text: str | None
    target_id: UUID | None
    client_request_id: str | None
    as_json: bool

    @property
    def content(self) -> str:
        return content_of(self.text, None, False)


def _gathered(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    content: options.Content = None,
    file: options.File = None,
    stdin: options.Stdin = False,
    target_id: options.TargetId = None,
    client_request_id: options.RequestId = None,
    as_json: AsJson = False,
) -> Given:
    text = optional_content_of(content, file, stdin)
    return Given(id_of(debate_id, named), text, target_id, client_request_id, as_json)


_SHARED = inspect.signature(_gathered).parameters
Function = TypeVar("Function", bound=Callable[..., None])


def _move(name: str, answers: bool) -> Callable[[Function], Function]:
    """A command with the options of `_gathered` after its own: its function is called with them as one `Given`.
    `answers`: it answers an argument, which --target-id names."""

    def decorate(function: Function) -> Function:
        own = list(inspect.signature(function).parameters.values())[1:]
        shared = [each for each in _SHARED.values() if answers or each.name != "target_id"]

        @functools.wraps(function)
        def command(**given: Any) -> None:
            own_values = {each.name: given.pop(each.name) for each in own}
            function(_gathered(**given), **own_values)

        of_typer: Any = command
        # Typer reads both. The debate's id is the only positional argument, so what has no default may come after it.
        in_order = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *shared)]
        of_typer.__signature__ = inspect.Signature(in_order)
        of_typer.__annotations__ = {each.name: each.annotation for each in in_order}
        commands.command(name)(command)
        return function

    return decorate


@_move("submit", answers=True)
def submit(given: Given, role: Annotated[options.Debater, typer.Option(help="The seat that you argue for.")]) -> None:
    """Argue, as proposer or opponent.

    Retries with the same client_request_id when the server does not answer.

    Example: debate submit 0b0e… --role opponent --content "Deliveries need streets too"
    """
    _answer(given, "arguments", role)


@_move("appeal", answers=True)
def appeal(given: Given) -> None:
    """Call the judge, as proposer.

    Example: debate appeal 0b0e… --content "We go round in circles: is the cost in question or not?"
    """
    _answer(given, "appeal", "proposer")


@_move("request-completion", answers=True)
def request_completion(given: Given) -> None:
    """End the debate in agreement, as proposer. Your text is its result.

    Example: debate request-completion 0b0e… --file agreed-plan.md
    """
    _answer(given, "resolution", "proposer")


@_move("intervention", answers=False)
def intervention(given: Given) -> None:
    """Interrupt a debate, as judge. It continues after a person's ruling; the text is optional.

    Example: debate intervention 0b0e… --content "Stay with the question, please"
    """
    _store(given, "intervention", {"content": given.text})


@_move("question", answers=False)
def question(given: Given) -> None:
    """Ask the debaters a question, as judge: in interactive debates and consultancies, before the last round.

    Example: debate question 0b0e… --content "What would the deliveries cost?"
    """
    _store(given, "question", {"content": given.content})


Score = Annotated[float | None, typer.Option(help="Part of a verdict.", min=0, max=10)]


@_move("ruling", answers=False)
def ruling(
    given: Given,
    close: Annotated[bool, typer.Option("--close", help="End the debate with this ruling.")] = False,
    winner: Annotated[
        Literal["proposer", "opponent", "tie"] | None,
        typer.Option(help="Part of a verdict, with both scores and --reasoning."),
    ] = None,
    proposer_score: Score = None,
    opponent_score: Score = None,
    reasoning: Annotated[str | None, typer.Option(help="Part of a verdict: why.")] = None,
) -> None:
    """Rule, as judge.

    When it is the judge's turn, a person may rule in place of a judge that is a model.

    Example: debate ruling 0b0e… --content "The costs are settled; go on with the dates"

    Example: debate ruling 0b0e… --close --content "Well argued" --winner opponent --proposer-score 6
    --opponent-score 8 --reasoning "The costs were never answered"
    """
    parts = (winner, proposer_score, opponent_score, reasoning)
    verdict = None
    if winner is not None and reasoning is not None and None not in parts:
        scores = {"proposer": proposer_score, "opponent": opponent_score}
        verdict = {"winner": winner, "scores": scores, "reasoning": checked(reasoning, "--reasoning"), "stop": close}
    elif parts != (None, None, None, None):
        raise CommandFailed(
            "The verdict is incomplete", Exit.USAGE, "Give --winner, --proposer-score, --opponent-score and --reasoning"
        )
    _store(given, "ruling", {"content": given.content, "close": close, "verdict": verdict})


def send(path: str, body: output.Json, client_request_id: str | None) -> output.Json:
    """Sends a request until it is answered. The client_request_id makes a repeat safe."""
    request_id = client_request_id or str(uuid.uuid4())
    try:
        return connect(patient=True).post(path, {**output.given(body), "client_request_id": request_id})
    except ServerUnavailable as failure:
        again = f"Repeating it with --client-request-id {request_id} cannot store it twice"
        advice = f"{failure.suggestion}. {again}" if failure.suggestion else again
        raise CommandFailed(failure.message, failure.exit_code, advice) from failure


def _answer(given: Given, move: str, role: str) -> None:
    """A debater's move, which names the argument that it answers."""
    text = given.content
    target = given.target_id or _target(connect(patient=True), given.debate_id, role, given.client_request_id)
    body = {"content": text, "target_id": str(target), "role": role if move == "arguments" else None}
    _store(given, move, body)


def _store(given: Given, move: str, body: output.Json) -> None:
    data = send(f"/debates/{given.debate_id}/{move}", body, given.client_request_id)
    if given.as_json:
        output.print_json(data)
        return
    debate, argument = data["debate"], data["argument"]
    output.say(f"Stored as argument {argument['id']} (seq {argument['seq']}). {words.whose_turn(debate)}")
    for line in words.next_steps(debate, argument["role"], argument["id"]):
        output.say(line)


def _target(api: "Api", debate_id: str, role: str, client_request_id: str | None) -> str:
    """The latest argument; for a request that is already stored, the argument it answered, so that the repeat is
    identical."""
    transcript = api.get(f"/debates/{debate_id}", limit=1 if client_request_id is None else SEARCHED_ARGUMENTS)
    mine = (client_request_id, role)
    stored = [said for said in transcript["arguments"] if (said["client_request_id"], said["role"]) == mine]
    if client_request_id is not None and stored:
        answered: str = stored[-1]["parent_id"]
        return answered
    latest: str = [transcript["motion"], *transcript["arguments"]][-1]["id"]
    return latest
