"""The moves in a debate: `debate submit`, `appeal`, `resolve`, `interrupt`, `question` and `rule`."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from app.cli import options, output, words
from app.cli.command import CommandResult, Commands
from app.cli.content import checked
from app.cli.errors import CommandFailed, Exit, ServerUnavailable
from app.cli.options import connect

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands()
SEARCHED_ARGUMENTS = 100
"""How many of the latest arguments are searched for one that was stored with the same client_request_id."""


@dataclass(frozen=True)
class MoveOptions(options.TextOptions, options.DebateId):
    """The options of every move."""

    client_request_id: options.RequestId = None


@dataclass(frozen=True)
class AnswerOptions(MoveOptions):
    target_id: Annotated[
        UUID | None, typer.Option(help="The argument that this one answers. [default: the latest]")
    ] = None


@commands.command()
def submit(
    role: Annotated[options.Debater, typer.Option(help="The seat that you argue for.")], move: AnswerOptions
) -> CommandResult:
    """Argue, as proposer or opponent.

    Retries with the same client_request_id when the server does not respond.

    Example: debate submit 0b0e… --role opponent --content "Deliveries need streets too"
    """
    return _answer_argument(move, "arguments", role)


@commands.command()
def appeal(move: AnswerOptions) -> CommandResult:
    """Call the judge, as proposer.

    Example: debate appeal 0b0e… --content "We go round in circles: is the cost in question or not?"
    """
    return _answer_argument(move, "appeal", "proposer")


@commands.command()
def resolve(move: AnswerOptions) -> CommandResult:
    """End the debate in agreement. The text of the proposer is its result.

    Example: debate resolve 0b0e… --file agreed-plan.md
    """
    return _answer_argument(move, "resolution", "proposer")


@commands.command()
def interrupt(move: MoveOptions) -> CommandResult:
    """Interrupt a debate, as judge. It continues after a person's ruling; the text is optional.

    Example: debate interrupt 0b0e… --content "Stay with the question, please"
    """
    return _store(move, "intervention", {"content": move.if_given})


@commands.command()
def question(move: MoveOptions) -> CommandResult:
    """Ask the debaters a question, as judge: in interactive debates and consultancies, before the last round.

    Example: debate question 0b0e… --content "What would the deliveries cost?"
    """
    return _store(move, "question", {"content": move.required})


Score = Annotated[float | None, typer.Option(help="Part of a verdict.", min=0, max=10)]


@commands.command()
def rule(
    move: MoveOptions,
    close: Annotated[bool, typer.Option("--close", help="End the debate with this ruling.")] = False,
    winner: Annotated[
        Literal["proposer", "opponent", "tie"] | None,
        typer.Option(help="Part of a verdict, with both scores and --reasoning."),
    ] = None,
    proposer_score: Score = None,
    opponent_score: Score = None,
    reasoning: Annotated[str | None, typer.Option(help="Part of a verdict: why.")] = None,
) -> CommandResult:
    """Rule, as judge.

    On the judge's turn, a person may rule in place of a model that judges.

    Example: debate rule 0b0e… --content "The costs are settled; continue with the dates"

    Example: debate rule 0b0e… --close --content "Well argued" --winner opponent --proposer-score 6
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
    return _store(move, "ruling", {"content": move.required, "close": close, "verdict": verdict})


def send(path: str, body: output.Json, client_request_id: str | None) -> output.Json:
    """Sends a request until the server responds. The client_request_id makes the request idempotent."""
    request_id = client_request_id or str(uuid.uuid4())
    try:
        return connect(patient=True).post(path, {**output.given(body), "client_request_id": request_id})
    except ServerUnavailable as failure:
        again = f"Repeating it with --client-request-id {request_id} cannot store it twice"
        advice = f"{failure.suggestion}. {again}" if failure.suggestion else again
        raise CommandFailed(failure.message, failure.exit_code, advice) from failure


def _answer_argument(move: AnswerOptions, endpoint: str, role: str) -> CommandResult:
    text = move.required
    target = move.target_id or _target(connect(patient=True), move.id, role, move.client_request_id)
    body = {"content": text, "target_id": str(target), "role": role if endpoint == "arguments" else None}
    return _store(move, endpoint, body)


def _store(move: MoveOptions, endpoint: str, body: output.Json) -> CommandResult:
    data = send(f"{move.path}/{endpoint}", body, move.client_request_id)
    return CommandResult(data, _stored(data["debate"], data["argument"]))


def _stored(debate: output.Json, argument: output.Json) -> Iterator[str]:
    yield f"Stored as argument {argument['id']} (seq {argument['seq']}). {words.whose_turn(debate)}"
    yield from words.next_steps(debate, argument["role"], argument["id"])


def _target(api: "Api", debate_id: str, role: str, client_request_id: str | None) -> str:
    """The latest argument. For a request that is already stored, its target, so that the repeat is identical."""
    transcript = api.get(f"/debates/{debate_id}", limit=1 if client_request_id is None else SEARCHED_ARGUMENTS)
    mine = (client_request_id, role)
    stored = [each for each in transcript["arguments"] if (each["client_request_id"], each["role"]) == mine]
    if client_request_id is not None and stored:
        answered: str = stored[-1]["parent_id"]
        return answered
    latest: str = [transcript["motion"], *transcript["arguments"]][-1]["id"]
    return latest
