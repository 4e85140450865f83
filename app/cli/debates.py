"""`debate create`, `fork`, `list`, `show`, `events`, `export`, `start`, `stop`, `pause`, `resume`, `delete` and
`generate-id`."""

import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

import typer

from app.cli import completion, options, output, words
from app.cli.arguments import send
from app.cli.command import AsJson, CommandResult, Commands
from app.cli.content import checked, title_of
from app.cli.formats import chosen
from app.cli.options import DebateId, confirm, connect, page_of
from app.cli.seats import seats_of
from app.cli.values import ending, has_ended
from app.core.players import EXTERNAL
from app.core.seats import Seat
from app.words.counts import count
from app.words.events import details, what

commands = Commands()


@dataclass(frozen=True)
class CopyLimitOptions:
    max_rounds: Annotated[int | None, typer.Option(help="End after this many rounds.", min=1, max=10_000)] = None
    max_cost_usd: Annotated[
        float | None, typer.Option(help="End when models have cost this many US dollars.", min=0)
    ] = None


@dataclass(frozen=True)
class LimitOptions(CopyLimitOptions):
    max_seconds: Annotated[float | None, typer.Option(help="End after this many seconds.", min=0)] = None
    max_total_tokens: Annotated[int | None, typer.Option(help="End after this many tokens.", min=1)] = None


@commands.command()
def create(
    *,
    motion: options.TextOptions,
    title: Annotated[
        str | None, typer.Option(help="At most 200 characters. [default: the beginning of the motion]")
    ] = None,
    kind: Annotated[options.Kind, typer.Option("--type", help="The kind of debate.")] = "general_debate",
    form: Annotated[str, options.FORM_OPTION] = "dialogue",
    players: options.PlayerOptions,
    limits: LimitOptions,
    deadline_seconds: Annotated[
        float | None, typer.Option(help="Maximum time that an external debater has for a turn.", min=0)
    ] = None,
    on_timeout: Annotated[
        str | None,
        typer.Option(help="After a missed deadline: stop, forfeit, or a player that takes the turn. [default: stop]"),
    ] = None,
    instructions: options.InstructionOptions,
    debate_id: Annotated[UUID | None, typer.Option(help="Your own id for the debate. [default: a new UUID]")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="<tag>", help="A tag for `debate list --tag`; can be repeated.")
    ] = None,
    no_start: Annotated[bool, typer.Option("--no-start", help="Wait for `debate start`.")] = False,
    client_request_id: options.RequestId = None,
) -> CommandResult:
    """Create a debate. Its text is the motion.

    A seat's player is external (an agent or a person), scripted or a model. The format sets the default.

    Example: debate create --content "Cities should ban private cars from their centres" --opponent scripted
    """
    text = motion.required
    schedule = chosen(form)
    body = {
        "motion_content": text,
        "title": title_of(text) if title is None else checked(title, "--title"),
        "debate_type": kind,
        "format": schedule.name,
        "debate_id": str(debate_id) if debate_id else None,
        "seats": seats_of(vars(players), schedule, deadline_seconds, on_timeout, instructions.thinking) or None,
        "limits": output.given(vars(limits)) or None,
        "tags": tag or None,
        "start": False if no_start else None,
        **instructions.body(),
    }
    data = send("/debates", body, client_request_id)
    return CommandResult(data, _created(data["debate"]))


def _created(debate: output.Json) -> Iterator[str]:
    yield f"Created debate {debate['id']}. {words.whose_turn(debate)}\nPage: {page_of(connect(), debate['id'])}"
    if debate["waits_for_start"]:
        yield from words.start_steps(debate["id"])
        return
    yield "Next:"
    for role in ("proposer", "opponent"):
        if debate["seats"][role]["player"] == EXTERNAL:
            yield f"  {words.wait_command(debate['id'], role, None, '--my-turn')}"
    yield f"  {output.program()} show {debate['id']}"


@dataclass(frozen=True)
class DebateFilters:
    """Under the names of GET /debates."""

    state: Annotated[
        str | None,
        typer.Option(
            help="For example AWAITING_OPPONENT; separate several by commas.", autocompletion=completion.states
        ),
    ] = None
    status: Annotated[
        str | None,
        typer.Option(help="For example running; separate several by commas.", autocompletion=completion.statuses),
    ] = None
    debate_type: Annotated[options.Kind | None, typer.Option("--type", help="The kind of debate.")] = None
    format: Annotated[str | None, options.FORM_OPTION] = None
    q: Annotated[str | None, typer.Option(help="Search for this part of a title.")] = None
    texts: Annotated[bool, typer.Option("--texts", help="With --q, also search the words of the turns.")] = False
    pending_first_opponent: Annotated[
        bool, typer.Option("--pending-first-opponent", help="Only debates that an opponent can join.")
    ] = False
    player: Annotated[
        str | None, typer.Option(help="Only debates with this player in a seat.", autocompletion=completion.seated)
    ] = None
    winner: Annotated[
        Literal["proposer", "opponent", "tie"] | None, typer.Option(help="Only debates with this final verdict.")
    ] = None
    tag: Annotated[str | None, typer.Option(help="Only debates with this tag.")] = None
    error: Annotated[bool, typer.Option("--error", help="Only debates with an error.")] = False
    since: Annotated[str | None, typer.Option(help="Active since then: 2026-01-31T12:00:00Z.")] = None
    until: Annotated[str | None, typer.Option(help="Last active before then.")] = None

    def query(self) -> output.Json:
        return {
            name: "true" if value is True else value for name, value in vars(self).items() if value not in (None, False)
        }


@commands.command("list")
def list_(
    filters: DebateFilters,
    limit: Annotated[int, typer.Option("--limit", "-l", help="The maximum number to show.", min=1, max=200)] = 20,
    offset: Annotated[int | None, typer.Option(help="How many to skip.", min=0)] = None,
    cursor: options.Cursor = None,
    as_json: AsJson = False,
) -> CommandResult | None:
    """List debates, the most recently active first.

    Example: debate list --status running

    Example: debate list --pending-first-opponent --json
    """
    found = connect().get("/debates", **filters.query(), limit=limit, offset=offset, cursor=cursor)
    if as_json or not found["debates"]:
        start = f'{output.program()} run "Cities should ban private cars from their centres"'
        is_filtered = filters.query() or offset or cursor
        return CommandResult(found, (), "No debates match." if is_filtered else f"No debates yet. Start one: {start}")
    from app.cli import show

    show.print_debates(found["debates"])
    if found["next_cursor"]:
        shown = f"{len(found['debates'])} of {found['total']} debates"
        output.note(f"{shown}. Raise --limit, or get the next page with --cursor {found['next_cursor']}")
    return None


@commands.command("show")
def show_debate(
    debate: DebateId,
    limit: Annotated[
        int | None, typer.Option("--limit", "-l", help="Show only the last N arguments. [default: all]", min=0)
    ] = None,
    role: Annotated[
        options.Role | None, typer.Option(help="Show only what this role can do. [default: all roles]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a debate and its next actions.

    Example: debate show 0b0e… --role opponent --limit 4
    """
    transcript = connect().get(debate.path, limit=limit)
    roles = [role] if role else [seat.role for seat in Seat]
    if as_json:
        actions = {each: words.actions_for(transcript["debate"], each) for each in roles}
        output.print_json({**transcript, "available_actions": actions})
        return
    _print_debate(transcript)
    for line in _actions(transcript, role, roles):
        output.say(line)


def _print_debate(transcript: output.Json) -> None:
    from app.cli import show

    debate, arguments = transcript["debate"], transcript["arguments"]
    output.say(output.one_line(debate["title"]))
    output.say(f"  {debate['id']}  {debate['format']}, {debate['status']}")
    output.say(f"  {words.whose_turn(debate)}\n")
    show.print_argument(transcript["motion"])
    hidden = debate["argument_count"] - 1 - len(arguments)
    if hidden > 0:
        output.say(f"… {count(hidden, 'earlier argument')} not shown; raise --limit to see more\n")
    for argument in arguments:
        show.print_argument(argument, with_id=True)
    if has_ended(debate):
        show.print_end(debate, arguments)


def _actions(transcript: output.Json, role: options.Role | None, roles: Sequence[str]) -> Iterator[str]:
    debate = transcript["debate"]
    for each in roles:
        yield f"{each}: {', '.join(words.commands_for(debate, each)) or 'no action now'}"
    if debate["waits_for_start"]:
        yield from words.start_steps(debate["id"])
    elif role:
        yield from words.next_steps(debate, role, [transcript["motion"], *transcript["arguments"]][-1]["id"])


@commands.command()
def start(debate: DebateId) -> CommandResult:
    """Start a debate that was created with --no-start.

    Example: debate start 0b0e…
    """
    return _change(debate, "start")


@commands.command()
def stop(
    debate: DebateId, reason: Annotated[str | None, typer.Option(help="Recorded with the debate.")] = None
) -> CommandResult:
    """End a debate immediately. A turn in progress is dropped.

    Example: debate stop 0b0e… --reason "wrong motion"
    """
    return _change(debate, "stop", reason=reason)


@commands.command()
def pause(
    debate: DebateId,
    now: Annotated[bool, typer.Option("--now", help="Cancel the current turn instead of finishing it.")] = False,
) -> CommandResult:
    """Pause a debate after its current turn.

    Example: debate pause 0b0e…
    """
    return _change(debate, "pause", now=now or None)


@commands.command()
def resume(debate: DebateId) -> CommandResult:
    """Resume a debate that is paused or has failed.

    Example: debate resume 0b0e…
    """
    return _change(debate, "resume")


def _change(which: DebateId, action: str, **body: str | bool | None) -> CommandResult:
    data = connect().post(f"{which.path}/{action}", output.given(body), repeatable=True)
    debate = data["debate"]
    now = f"The debate is {debate['status']}. {words.whose_turn(debate)}"
    return CommandResult(data, [ending(debate) if has_ended(debate) else now])


@commands.command()
def delete(
    debate: DebateId, yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False
) -> CommandResult:
    """Delete a debate and its whole transcript.

    Asks for confirmation. Without a terminal it needs --yes.

    Example: debate delete 0b0e… --yes
    """
    path, api = debate.path, connect()

    def question() -> str:
        found = api.get(path, limit=0)["debate"]
        title = output.clean(output.one_line(found["title"]))
        return f"Delete “{title}” with {count(found['argument_count'], 'turn')}?"

    if not yes:
        confirm("Deleting", question, "Nothing was deleted")
    return CommandResult(api.delete(path), [f"The debate {debate.id} is deleted."])


@commands.command("generate-id")
def generate_id() -> None:
    """Print a new UUID, for example for --debate-id.

    Example: id=$(debate generate-id)
    """
    output.say(str(uuid.uuid4()))


@commands.command()
def fork(
    after_seq: Annotated[int, typer.Option(help="The last turn that is copied; the motion is 1.", min=1)],
    debate: DebateId,
    players: options.PlayerOptions,
    limits: CopyLimitOptions,
    client_request_id: options.RequestId = None,
) -> CommandResult:
    """Copy a debate up to one of its turns, and continue the copy.

    Players and limits that you do not give are those of the original. The copied turns cost nothing.

    Example: debate fork 0b0e… --after-seq 3 --opponent openai:gpt-5-mini
    """
    body = {
        "after_seq": after_seq,
        "seats": {role: {"player": player} for role, player in output.given(vars(players)).items()} or None,
        "limits": output.given(vars(limits)) or None,
    }
    data = send(f"{debate.path}/fork", body, client_request_id)
    copy = data["debate"]
    lines = [
        f"Created debate {copy['id']} with {count(after_seq, 'turn')} copied. {words.whose_turn(copy)}",
        f"Page: {page_of(connect(), copy['id'])}\nNext:\n  {output.program()} watch {copy['id']}",
    ]
    return CommandResult(data, lines)


@commands.command()
def events(
    debate: DebateId,
    limit: Annotated[int, typer.Option("--limit", "-l", help="The maximum number to show.", min=1, max=200)] = 100,
    cursor: options.Cursor = None,
) -> CommandResult:
    """List a debate's events: claims, turns, failed attempts and pauses, each with its actor.

    Example: debate events 0b0e…
    """
    found = connect().get(f"{debate.path}/events", limit=limit, cursor=cursor)
    more = f"Get the next page with --cursor {found['next_cursor']}" if found["next_cursor"] else None
    return CommandResult(found, map(_event, found["events"]), note=more)


def _event(event: output.Json) -> str:
    kind, about = what(event["kind"]), details(event["kind"], event["about"])
    seq = event["about"].get("seq")
    by = f" (by {event['by']})" if event["by"] else ""
    described = f"{kind}{f': #{seq}, ' if seq else ': ' if about else ''}{about}{by}"
    return f"{event['at']}  {output.one_line(described)}"


@commands.command()
def export(
    debate: DebateId,
    file: options.OutputFile,
    form: Annotated[
        Literal["json", "markdown", "html"], typer.Option("--format", help="The format of the file.")
    ] = "json",
) -> None:
    """Write the transcript and its verdicts to a file.

    Example: debate export 0b0e… --format markdown --output debate.md
    """
    file.refuse_existing()
    document = connect().download(f"{debate.path}/export", format=form)
    if file.is_stdout and sys.stdout.isatty():
        sys.stdout.write(output.clean(document.decode()))
        return
    file.write([document])
