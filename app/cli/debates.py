"""`debate create`, `fork`, `list`, `get-context`, `events`, `export`, `start`, `stop`, `pause`, `resume`,
`delete` and `generate-id`."""

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer

from app.cli import completion, options, output, words
from app.cli.arguments import send
from app.cli.content import checked, content_of, material_of, title_of
from app.cli.options import AsJson, DebateId, NamedDebateId, confirm, connect, id_of, page_of
from app.cli.seats import seats_of
from app.cli.values import ending, has_ended
from app.core.players import EXTERNAL
from app.core.seats import Seat
from app.words.counts import count
from app.words.events import details, what

commands = typer.Typer()
EXPORT_ADVICE = "Choose another name, or overwrite it with --force"

Player = Annotated[
    str | None,
    typer.Option(
        help="Player of this seat: external, scripted, a model … [default: by format]",
        autocompletion=completion.seated,
    ),
]


@commands.command()
def create(
    content: options.Content = None,
    file: options.File = None,
    stdin: options.Stdin = False,
    title: Annotated[
        str | None, typer.Option(help="At most 200 characters. [default: the beginning of the motion]")
    ] = None,
    kind: Annotated[options.Kind, typer.Option("--type", help="The kind of debate.")] = "general_debate",
    form: Annotated[options.Form, options.FORM_OPTION] = "dialogue",
    proposer: Player = None,
    opponent: Player = None,
    arbitrator: Player = None,
    max_rounds: Annotated[int | None, typer.Option(help="End after this many rounds.", min=1, max=10_000)] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this many seconds.", min=0)] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="End after this many tokens.", min=1)] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(help="End when models have cost this many US dollars.", min=0)
    ] = None,
    deadline_seconds: Annotated[
        float | None, typer.Option(help="How long an external debater may take for a turn.", min=0)
    ] = None,
    on_timeout: Annotated[
        str | None,
        typer.Option(help="When that has passed: stop, forfeit, or a player that takes the turn. [default: stop]"),
    ] = None,
    thinking: options.Thinks = None,
    language: options.Language = None,
    prompts: options.Prompts = None,
    debate_id: Annotated[UUID | None, typer.Option(help="An id of your choice. [default: a new UUID]")] = None,
    document: options.DocumentFile = None,
    visible_to: options.VisibleTo = None,
    proposer_answer: options.ProposerAnswer = None,
    opponent_answer: options.OpponentAnswer = None,
    correct: options.Correct = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="<tag>", help="A tag for `debate list --tag`; can be repeated.")
    ] = None,
    no_start: Annotated[
        bool, typer.Option("--no-start", help="Do not start it: `debate start` does that later.")
    ] = False,
    client_request_id: options.RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Create a debate. Its text is the motion.

    Each seat is taken by a player that a worker runs, or, as external, by an agent or a person.

    Example: debate create --content "Cities should ban private cars from their centres" --opponent scripted
    """
    motion = content_of(content, file, stdin)
    players = {"proposer": proposer, "opponent": opponent, "arbitrator": arbitrator}
    limits = {
        "max_rounds": max_rounds,
        "max_seconds": max_seconds,
        "max_total_tokens": max_total_tokens,
        "max_cost_usd": max_cost_usd,
    }
    body = {
        "motion_content": motion,
        "title": title_of(motion) if title is None else checked(title, "--title"),
        "debate_type": kind,
        "format": form,
        "debate_id": str(debate_id) if debate_id else None,
        "seats": seats_of(players, form, deadline_seconds, on_timeout, thinking) or None,
        "limits": output.given(limits) or None,
        "tags": tag or None,
        "start": False if no_start else None,
        "language": language,
        "prompts": prompts,
        "material": material_of(document, visible_to, proposer_answer, opponent_answer, correct),
    }
    data = send("/debates", body, client_request_id)
    output.answer(data, as_json, _created(data["debate"]))


def _created(debate: output.Json) -> Iterator[str]:
    yield f"Created debate {debate['id']}. {words.whose_turn(debate)}\nPage: {page_of(connect(), debate['id'])}"
    if debate["waits_for_start"]:
        yield from words.start_steps(debate["id"])
        return
    yield "Next:"
    for role in ("proposer", "opponent"):
        if debate["seats"][role]["player"] == EXTERNAL:
            yield f"  {words.wait_command(debate['id'], role, None, '--my-turn')}"
    yield f"  {output.program()} get-context {debate['id']}"


@commands.command("list")
def list_(
    state: Annotated[
        str | None,
        typer.Option(help="For example AWAITING_OPPONENT; several by comma.", autocompletion=completion.states),
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="For example running; several by comma.", autocompletion=completion.statuses)
    ] = None,
    kind: Annotated[options.Kind | None, typer.Option("--type", help="The kind of debate.")] = None,
    form: Annotated[options.Form | None, options.FORM_OPTION] = None,
    q: Annotated[str | None, typer.Option(help="Search for this part of a title.")] = None,
    texts: Annotated[bool, typer.Option("--texts", help="--q also searches for words of the turns.")] = False,
    pending_first_opponent: Annotated[
        bool, typer.Option("--pending-first-opponent", help="Only debates that an opponent can join.")
    ] = False,
    player: Annotated[
        str | None, typer.Option(help="Only debates with this player in a seat.", autocompletion=completion.seated)
    ] = None,
    winner: Annotated[
        Literal["proposer", "opponent", "tie"] | None, typer.Option(help="Only debates with this verdict on the whole.")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only debates with this tag.")] = None,
    error: Annotated[bool, typer.Option("--error", help="Only debates with an error.")] = False,
    since: Annotated[str | None, typer.Option(help="Active since then: 2026-01-31T12:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Last active before then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many to show.", min=1, max=200)] = 20,
    offset: Annotated[int | None, typer.Option(help="How many to skip.", min=0)] = None,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """List debates, the most recently active first.

    Example: debate list --status running

    Example: debate list --pending-first-opponent --json
    """
    filters: output.Json = {
        "state": state,
        "status": status,
        "debate_type": kind,
        "format": form,
        "q": q,
        "texts": "true" if texts else None,
        "pending_first_opponent": "true" if pending_first_opponent else None,
        "player": player,
        "winner": winner,
        "tag": tag,
        "error": "true" if error else None,
        "since": since,
        "until": until,
    }
    answer = connect().get("/debates", **filters, limit=limit, offset=offset, cursor=cursor)
    if as_json:
        output.print_json(answer)
    elif answer["debates"]:
        from app.cli import show

        show.print_debates(answer["debates"])
        if answer["next_cursor"]:
            shown = f"{len(answer['debates'])} of {answer['total']} debates"
            output.note(f"{shown}. Raise --limit, or get the next page with --cursor {answer['next_cursor']}")
    elif output.given(filters) or offset or cursor:
        output.note("No debates match these filters.")
    else:
        output.note(
            f'No debates yet. Start one: {output.program()} run "Cities should ban private cars from their centres"'
        )


@commands.command("get-context")
def get_context(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-l", help="Show only the last N arguments. [default: all]", min=0)
    ] = None,
    role: Annotated[
        options.Role | None, typer.Option(help="Show only what this role can do. [default: all roles]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a debate, whose turn it is, and what to do next.

    Example: debate get-context 0b0e… --role opponent --limit 4
    """
    the_id = id_of(debate_id, named)
    transcript = connect().get(f"/debates/{the_id}", limit=limit)
    debate = transcript["debate"]
    roles = [role] if role else [seat.role for seat in Seat]
    if as_json:
        actions = {each: words.commands_for(debate, each) for each in roles}
        output.print_json({**transcript, "available_actions": actions})
        return
    from app.cli import show

    output.say(output.one_line(debate["title"]))
    output.say(f"  {the_id}  {debate['format']}, {debate['status']}")
    output.say(f"  {words.whose_turn(debate)}\n")
    show.print_argument(transcript["motion"])
    hidden = debate["argument_count"] - 1 - len(transcript["arguments"])
    if hidden > 0:
        output.say(f"… {count(hidden, 'earlier argument')} not shown; raise --limit to see more\n")
    for argument in transcript["arguments"]:
        show.print_argument(argument, with_id=True)
    if has_ended(debate):
        show.print_end(debate, transcript["arguments"])
    for each in roles:
        output.say(f"{each}: {', '.join(words.commands_for(debate, each)) or 'nothing to do now'}")
    steps = words.start_steps(the_id) if debate["waits_for_start"] else []
    if role and not steps:
        latest = [transcript["motion"], *transcript["arguments"]][-1]["id"]
        steps = words.next_steps(debate, role, latest)
    for line in steps:
        output.say(line)


@commands.command()
def start(debate_id: DebateId = None, named: NamedDebateId = None, as_json: AsJson = False) -> None:
    """Begin a debate that was created with --no-start.

    Example: debate start 0b0e…
    """
    _change(id_of(debate_id, named), "start", as_json)


@commands.command()
def stop(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    reason: Annotated[str | None, typer.Option(help="Recorded with the debate.")] = None,
    as_json: AsJson = False,
) -> None:
    """End a debate now. A turn in progress is dropped.

    Example: debate stop 0b0e… --reason "wrong motion"
    """
    _change(id_of(debate_id, named), "stop", as_json, reason=reason)


@commands.command()
def pause(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    now: Annotated[bool, typer.Option("--now", help="Discard the turn under way instead of finishing it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pause a debate until it is resumed. The turn under way is finished first.

    Example: debate pause 0b0e…
    """
    _change(id_of(debate_id, named), "pause", as_json, now=now or None)


@commands.command()
def resume(debate_id: DebateId = None, named: NamedDebateId = None, as_json: AsJson = False) -> None:
    """Resume a debate that is paused or has failed.

    Example: debate resume 0b0e…
    """
    _change(id_of(debate_id, named), "resume", as_json)


def _change(debate_id: str, what: str, as_json: bool, **body: str | bool | None) -> None:
    data = connect().post(f"/debates/{debate_id}/{what}", output.given(body), repeatable=True)
    debate = data["debate"]
    now = f"The debate is {debate['status']}. {words.whose_turn(debate)}"
    output.answer(data, as_json, [ending(debate) if has_ended(debate) else now])


@commands.command()
def delete(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a debate and its whole transcript.

    Asks for confirmation. Without a terminal it needs --yes.

    Example: debate delete 0b0e… --yes
    """
    the_id, api = id_of(debate_id, named), connect()

    def question() -> str:
        debate = api.get(f"/debates/{the_id}", limit=0)["debate"]
        title = output.clean(output.one_line(debate["title"]))
        return f"Delete “{title}” with {count(debate['argument_count'], 'turn')}?"

    if not yes:
        confirm("Deleting", question, "Nothing was deleted")
    output.answer(api.delete(f"/debates/{the_id}"), as_json, [f"The debate {the_id} is deleted."])


@commands.command("generate-id")
def generate_id() -> None:
    """Print a new UUID, for example for --debate-id.

    Example: id=$(debate generate-id)
    """
    output.say(str(uuid.uuid4()))


PlayerOfCopy = Annotated[
    str | None,
    typer.Option(help="Player of this seat in the copy. [default: as in the debate]", autocompletion=completion.seated),
]


@commands.command()
def fork(
    after_seq: Annotated[int, typer.Option(help="The last turn that is copied; the motion is 1.", min=1)],
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    proposer: PlayerOfCopy = None,
    opponent: PlayerOfCopy = None,
    arbitrator: PlayerOfCopy = None,
    max_rounds: Annotated[
        int | None, typer.Option(help="A limit of rounds for the copy. [default: as in the debate]", min=1, max=10_000)
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(help="A limit of cost for the copy, in US dollars. [default: as in the debate]", min=0),
    ] = None,
    client_request_id: options.RequestId = None,
    as_json: AsJson = False,
) -> None:
    """Copy a debate up to one of its turns, and continue the copy.

    The copied turns cost nothing: no player is asked for them again.

    Example: debate fork 0b0e… --after-seq 3 --opponent openai:gpt-5-mini
    """
    players = {"proposer": proposer, "opponent": opponent, "arbitrator": arbitrator}
    body = {
        "after_seq": after_seq,
        "seats": {role: {"player": player} for role, player in players.items() if player is not None} or None,
        "limits": output.given({"max_rounds": max_rounds, "max_cost_usd": max_cost_usd}) or None,
    }
    data = send(f"/debates/{id_of(debate_id, named)}/fork", body, client_request_id)
    debate = data["debate"]
    lines = [
        f"Created debate {debate['id']} with {count(after_seq, 'turn')} copied. {words.whose_turn(debate)}",
        f"Page: {page_of(connect(), debate['id'])}\nNext:\n  {output.program()} watch {debate['id']}",
    ]
    output.answer(data, as_json, lines)


@commands.command()
def events(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many to show.", min=1, max=200)] = 100,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a debate's history: claims, turns, failed attempts, pauses, and who did what.

    Example: debate events 0b0e…
    """
    answer = connect().get(f"/debates/{id_of(debate_id, named)}/events", limit=limit, cursor=cursor)
    if as_json:
        output.print_json(answer)
        return
    for event in answer["events"]:
        kind, about = what(event["kind"]), details(event["kind"], event["about"])
        seq = event["about"].get("seq")
        by = f" (by {event['by']})" if event["by"] else ""
        told = f"{kind}{f': #{seq}, ' if seq else ': ' if about else ''}{about}{by}"
        output.say(f"{event['at']}  {output.one_line(told)}")
    if answer["next_cursor"]:
        output.note(f"Get the next page with --cursor {answer['next_cursor']}")


@commands.command()
def export(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    form: Annotated[
        Literal["json", "markdown", "html"], typer.Option("--format", help="The format of the file.")
    ] = "json",
    target: Annotated[str, typer.Option("--output", help="The file to write; - is standard output.")] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the transcript and its verdicts to a file.

    Example: debate export 0b0e… --format markdown --output debate.md
    """
    file = None if target == "-" else Path(target)
    if file is not None and file.exists() and not force:
        raise output.already_exists(file, EXPORT_ADVICE)
    document = connect().download(f"/debates/{id_of(debate_id, named)}/export", format=form)
    if file is None:
        _print(document)
        return
    with output.written(file, force, EXPORT_ADVICE) as stream:
        stream.write(document)
    output.note(f"Written to {target}.")


def _print(document: bytes) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(output.clean(document.decode()))
    else:
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
