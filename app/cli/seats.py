"""`debate take`, `release` and `invite`, and what `debate create` says of seats."""

from typing import Annotated, Literal

import typer

from app.cli import output, words
from app.cli.errors import CommandFailed, Exit
from app.cli.options import AsJson, DebateId, NamedDebateId, Role, connect, id_of, in_seconds
from app.core.players import EXTERNAL, OnTimeout
from app.core.schedules import BUILT_IN
from app.core.seats import Seat
from app.words.players import seat_name

commands = typer.Typer()


@commands.command()
def take(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    role: Annotated[Role, typer.Option(help="The seat.")] = "opponent",
    as_json: AsJson = False,
) -> None:
    """Take an open external seat, and hold it until you give it back.

    Once a seat is taken, only its holder can speak from it.

    Example: debate take 0b0e… --role opponent
    """
    the_id = id_of(debate_id, named)
    data = connect().post(f"/debates/{the_id}/seats/{role}/take")
    lines = [
        f"You hold the seat of the {seat_name(role)}. {words.whose_turn(data['debate'])}",
        f"Next:\n  {words.wait_command(the_id, role, None, '--my-turn')}",
    ]
    output.answer(data, as_json, lines)


@commands.command()
def release(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    role: Annotated[Role, typer.Option(help="The seat.")] = "opponent",
    as_json: AsJson = False,
) -> None:
    """Give a seat back, so that somebody else can take it.

    Example: debate release 0b0e… --role opponent
    """
    data = connect().post(f"/debates/{id_of(debate_id, named)}/seats/{role}/release", repeatable=True)
    output.answer(data, as_json, [f"The seat of the {seat_name(role)} is open."])


@commands.command()
def invite(
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    role: Annotated[
        Literal["proposer", "opponent", "arbitrator", "watcher"], typer.Option(help="The seat.")
    ] = "opponent",
    expires_in_hours: Annotated[
        float | None, typer.Option(help="How long it can be used. [default: a week]", min=0.01, max=8760)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a link for a person and a key for an agent: each opens one seat of one debate, and nothing else.

    Example: debate invite 0b0e… --role opponent
    """
    the_id, api = id_of(debate_id, named), connect()
    body = {"role": role, "expires_in_seconds": in_seconds(expires_in_hours)}
    made = api.post(f"/debates/{the_id}/invitations", output.given(body))
    header = f'--header "Authorization: Bearer {made["key"]}"'
    lines = [
        f"For a person, in a browser:\n  {made['url']}",
        f"For an agent, as its key:\n  {made['key']}",
        f"In Claude Code:\n  claude mcp add --transport http debate {api.shown_url}/mcp {header}",
    ]
    output.answer(made, as_json, lines)
    if not as_json:
        output.note(f"Both are shown only now, and are valid until {made['expires_at']}")


def seats_of(
    players: dict[str, str | None],
    form: str,
    deadline_seconds: float | None,
    on_timeout: str | None,
    thinking: str | None = None,
) -> dict[str, output.Json]:
    """The seats for the API. The deadline is for the debaters' external seats, thinking for the named players."""
    seats: dict[str, output.Json] = {role: {"player": player} for role, player in players.items() if player is not None}
    if thinking is not None:
        named = [seat for seat in seats.values() if seat["player"] != EXTERNAL]
        if not named:
            raise CommandFailed("--thinking needs a player that workers run, and no seat names one", Exit.USAGE)
        for seat in named:
            seat["thinking"] = thinking
    if deadline_seconds is None:
        if on_timeout is not None:
            raise CommandFailed("--on-timeout needs --deadline-seconds", Exit.USAGE)
        return seats
    does = on_timeout or OnTimeout.STOP.value
    asked = does if does in (OnTimeout.STOP, OnTimeout.FORFEIT) else {"takeover": does}
    late = {"deadline_seconds": deadline_seconds, "on_timeout": asked}
    unsaid = EXTERNAL if BUILT_IN[form].external_by_default else None
    external = [seat for seat in (Seat.PROPOSER, Seat.OPPONENT) if (players[seat.role] or unsaid) == EXTERNAL]
    if not external:
        raise CommandFailed("--deadline-seconds needs an external debater, and there is none", Exit.USAGE)
    return {**seats, **{seat.role: {"player": EXTERNAL, **late} for seat in external}}
