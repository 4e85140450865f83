"""The commands about whole debates: create, find, read, hold, end, keep.

Commands import what they need when they run, so that `debate --help` is quick.
"""

from typing import Annotated, Literal
from uuid import UUID

import typer

from app.cli import completion
from app.cli.options import AsJson, Content, DebateId, File, Form, Kind, RequestId, Role, Stdin

commands = typer.Typer()

Player = Annotated[
    str | None,
    typer.Option(
        help="Who fills this seat: external, scripted … [the format's default]", autocompletion=completion.seated
    ),
]


@commands.command()
def create(
    content: Content = None,
    file: File = None,
    stdin: Stdin = False,
    title: Annotated[str | None, typer.Option(help="At most 200 characters. [the motion's beginning]")] = None,
    kind: Annotated[Kind, typer.Option("--type", help="What kind of question it is.")] = "general_debate",
    form: Annotated[Form, typer.Option("--format", help="rounds: the judge rules after each.")] = "dialogue",
    proposer: Player = None,
    opponent: Player = None,
    arbitrator: Player = None,
    max_rounds: Annotated[int | None, typer.Option(help="Ends after so many rounds.", min=1, max=10_000)] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Ends after so much time.", min=0)] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="Ends after so many tokens.", min=1)] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="Ends after so much money.", min=0)] = None,
    debate_id: Annotated[UUID | None, typer.Option(help="An id of your choice. [the server's]")] = None,
    client_request_id: RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Record a motion; the text is what is debated. Agents, people and workers' players take the seats.

    Example: debate create --content "Cities should ban private cars from their centres" --opponent scripted
    """
    from app.cli.content import content_of
    from app.cli.creation import create as create_debate
    from app.settings import settings_or_exit

    body = {
        "motion_content": content_of(content, file, stdin),
        "title": title,
        "debate_type": kind,
        "format": form,
        "debate_id": str(debate_id) if debate_id else None,
    }
    players = {"proposer": proposer, "opponent": opponent, "arbitrator": arbitrator}
    limits = {
        "max_rounds": max_rounds,
        "max_seconds": max_seconds,
        "max_total_tokens": max_total_tokens,
        "max_cost_usd": max_cost_usd,
    }
    create_debate(settings_or_exit(), body, players, limits, client_request_id, as_json)


@commands.command("list")
def list_(
    state: Annotated[
        str | None,
        typer.Option(help="Only where this is awaited: AWAITING_OPPONENT …", autocompletion=completion.states),
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only debates of this status: running …", autocompletion=completion.statuses)
    ] = None,
    kind: Annotated[Kind | None, typer.Option("--type", help="Only of this type.")] = None,
    form: Annotated[Form | None, typer.Option("--format", help="Only of this format.")] = None,
    q: Annotated[str | None, typer.Option(help="Only with these words in the title.")] = None,
    pending_first_opponent: Annotated[
        bool, typer.Option("--pending-first-opponent", help="Only those that wait for an opponent to come.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=200)] = 20,
    offset: Annotated[int | None, typer.Option(help="How many to leave out first.", min=0)] = None,
    cursor: Annotated[str | None, typer.Option(help="next_cursor of the page before.")] = None,
    as_json: AsJson = False,
) -> None:
    """List debates by last activity.

    Example: debate list --status running

    Example: debate list --pending-first-opponent --json
    """
    from app.cli.reading import list_debates
    from app.settings import settings_or_exit

    filters = {
        "state": state,
        "status": status,
        "debate_type": kind,
        "format": form,
        "q": q,
        "pending_first_opponent": "true" if pending_first_opponent else None,
    }
    list_debates(settings_or_exit(), filters, {"limit": limit, "offset": offset, "cursor": cursor}, as_json)


@commands.command("get-context")
def get_context(
    debate_id: DebateId,
    limit: Annotated[int | None, typer.Option(help="Only the last N arguments. [all]", min=0)] = None,
    role: Annotated[Role | None, typer.Option(help="Say what this role can do. [all three]")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the motion and the arguments, whose turn it is, and what can be done now.

    Example: debate get-context 0b0e… --role opponent --limit 4
    """
    from app.cli.reading import get_context as show_context
    from app.settings import settings_or_exit

    show_context(settings_or_exit(), str(debate_id), limit, role, as_json)


@commands.command()
def stop(
    debate_id: DebateId,
    reason: Annotated[str | None, typer.Option(help="For whoever reads it later.")] = None,
    as_json: AsJson = False,
) -> None:
    """End a debate now. A player in the middle of a turn is not waited for.

    Example: debate stop 0b0e… --reason "wrong motion"
    """
    from app.cli.control import change
    from app.settings import settings_or_exit

    change(settings_or_exit(), str(debate_id), "stop", {"reason": reason} if reason else {}, as_json)


@commands.command()
def pause(debate_id: DebateId, as_json: AsJson = False) -> None:
    """Hold a debate: nobody speaks until it is resumed.

    Example: debate pause 0b0e…
    """
    from app.cli.control import change
    from app.settings import settings_or_exit

    change(settings_or_exit(), str(debate_id), "pause", {}, as_json)


@commands.command()
def resume(debate_id: DebateId, as_json: AsJson = False) -> None:
    """Go on with a debate that was paused, or that has failed.

    Example: debate resume 0b0e…
    """
    from app.cli.control import change
    from app.settings import settings_or_exit

    change(settings_or_exit(), str(debate_id), "resume", {}, as_json)


@commands.command()
def watch(
    debate_id: DebateId,
    after_seq: Annotated[int, typer.Option(help="Leave out what came up to here.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Follow a debate live to its end. A lost connection is made anew, and nothing is missed or told twice.

    Example: debate watch 0b0e…
    """
    from app.cli.watching import watch as watch_debate
    from app.settings import settings_or_exit

    watch_debate(settings_or_exit(), str(debate_id), after_seq, as_json)


@commands.command()
def delete(
    debate_id: DebateId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a debate and everything said in it. Asks first; where nobody can answer, it needs --yes.

    Example: debate delete 0b0e… --yes
    """
    from app.cli.control import delete as delete_debate
    from app.settings import settings_or_exit

    delete_debate(settings_or_exit(), str(debate_id), yes, as_json)


@commands.command()
def export(
    debate_id: DebateId,
    form: Annotated[Literal["json", "markdown", "html"], typer.Option("--format", help="Of the document.")] = "json",
    output: Annotated[str, typer.Option(help="A file to write; - is standard output.")] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
) -> None:
    """Write the whole transcript with its verdicts.

    Example: debate export 0b0e… --format markdown --output debate.md
    """
    from app.cli.reading import export as export_debate
    from app.settings import settings_or_exit

    export_debate(settings_or_exit(), str(debate_id), form, output, force)
