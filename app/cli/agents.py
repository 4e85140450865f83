"""The commands of whoever holds a seat: argue, rule, wait.

Commands import what they need when they run, so that `debate --help` is quick.
"""

import uuid
from typing import Annotated, Any, Literal
from uuid import UUID

import typer

from app.cli.errors import CommandFailed, Exit
from app.cli.options import AsJson, Content, DebateId, Debater, File, RequestId, Stdin, TargetId

commands = typer.Typer()


def _submit(debate_id: UUID, move: str, body: dict[str, Any], request_id: str | None, as_json: bool) -> None:
    from app.cli.submission import submit
    from app.settings import settings_or_exit

    given = {name: value for name, value in body.items() if value is not None}
    submit(settings_or_exit(), str(debate_id), move, given, request_id, as_json)


@commands.command("submit")
def submit_(
    debate_id: DebateId,
    role: Annotated[Debater, typer.Option(help="The seat that you speak from.")],
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    target_id: TargetId = None,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Argue, as proposer or opponent.

    Asks again by itself, with the same client_request_id, when the server does not answer.

    Example: debate submit 0b0e… --role opponent --content "Deliveries need streets too"
    """
    from app.cli.content import content_of

    target = str(target_id) if target_id else None
    body = {"role": role, "content": content_of(content, file, stdin), "target_id": target}
    _submit(debate_id, "arguments", body, client_request_id, as_json)


@commands.command()
def appeal(
    debate_id: DebateId,
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    target_id: TargetId = None,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Call the judge, as proposer.

    Example: debate appeal 0b0e… --content "We go round in circles: is the cost in question or not?"
    """
    from app.cli.content import content_of

    target = str(target_id) if target_id else None
    body = {"content": content_of(content, file, stdin), "target_id": target}
    _submit(debate_id, "appeal", body, client_request_id, as_json)


@commands.command("request-completion")
def request_completion(
    debate_id: DebateId,
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    target_id: TargetId = None,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """End the debate in agreement, as proposer: your text is its result.

    Example: debate request-completion 0b0e… --file agreed-plan.md
    """
    from app.cli.content import content_of

    target = str(target_id) if target_id else None
    body = {"content": content_of(content, file, stdin), "target_id": target}
    _submit(debate_id, "resolution", body, client_request_id, as_json)


@commands.command()
def intervention(
    debate_id: DebateId,
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Interrupt, as arbitrator: nobody speaks before a person has ruled. The text may be left out.

    Example: debate intervention 0b0e… --content "Stay with the question, please"
    """
    from app.cli.content import optional_content_of

    body = {"content": optional_content_of(content, file, stdin)}
    _submit(debate_id, "intervention", body, client_request_id, as_json)


Score = Annotated[float | None, typer.Option(help="0 to 10, of a verdict.", min=0, max=10)]


@commands.command()
def ruling(
    debate_id: DebateId,
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    close: Annotated[bool, typer.Option("--close", help="This ruling ends the debate.")] = False,
    winner: Annotated[
        Literal["proposer", "opponent", "tie"] | None, typer.Option(help="Of a verdict: needs scores and reasoning.")
    ] = None,
    proposer_score: Score = None,
    opponent_score: Score = None,
    reasoning: Annotated[str | None, typer.Option(help="Why, of a verdict.")] = None,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Rule, as arbitrator; also in the place of a worker's judge, when it is the judge's turn.

    Example: debate ruling 0b0e… --content "The costs are settled; go on with the dates"

    Example: debate ruling 0b0e… --close --content "Well argued" --winner opponent --proposer-score 6
    --opponent-score 8 --reasoning "The costs were never answered"
    """
    from app.cli.content import checked, content_of

    text = content_of(content, file, stdin)
    parts = (winner, proposer_score, opponent_score, reasoning)
    verdict = None
    if winner is not None and reasoning is not None and None not in parts:
        scores = {"proposer": proposer_score, "opponent": opponent_score}
        verdict = {"winner": winner, "scores": scores, "reasoning": checked(reasoning, "--reasoning"), "stop": close}
    elif parts != (None, None, None, None):
        raise CommandFailed(
            "A verdict needs all of --winner, --proposer-score, --opponent-score and --reasoning", Exit.USAGE
        )
    body = {"content": text, "close": close, "verdict": verdict}
    _submit(debate_id, "ruling", body, client_request_id, as_json)


@commands.command()
def wait(
    debate_id: DebateId,
    role: Annotated[Debater, typer.Option(help="The seat that you wait for.")],
    argument_id: Annotated[UUID | None, typer.Option(help="The last argument you have seen. [none yet]")] = None,
    my_turn: Annotated[
        bool, typer.Option("--my-turn", help="Let pass what others say to each other, until it is your turn.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.", min=0, max=30 * 24 * 3600)] = 120,
    interval: Annotated[
        float, typer.Option(help="Seconds between two looks whether it was stopped.", min=0.05, max=60)
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Wait for something new, and say what to do about it. Exit code 5 when nothing came in time.

    Example: debate wait 0b0e… --role opponent --argument-id 0190…

    Example: debate wait 0b0e… --role opponent --my-turn --timeout 600
    """
    from app.cli.waiting import WaitOptions
    from app.cli.waiting import wait as wait_for_news
    from app.settings import settings_or_exit

    last_seen = str(argument_id) if argument_id else None
    wait_for_news(settings_or_exit(), WaitOptions(str(debate_id), role, last_seen, my_turn, timeout, interval, as_json))


@commands.command("generate-id")
def generate_id() -> None:
    """Print a new UUID, for --debate-id or --client-request-id.

    Example: id=$(debate generate-id)
    """
    typer.echo(str(uuid.uuid4()))
