"""`debate take`, `release` and `invite`, and the seats that `debate create` sends."""

from typing import Annotated, Literal

import typer

from app.cli import options, output, words
from app.cli.command import CommandResult, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import DebateId, connect, in_seconds
from app.core.players import EXTERNAL, OnTimeout
from app.core.schedules import Schedule
from app.core.seats import Seat
from app.words.players import seat_name

commands = Commands()
SeatOption = Annotated[options.Role, typer.Option("--role", help="The seat.")]


@commands.command()
def take(debate: DebateId, role: SeatOption = "opponent") -> CommandResult:
    """Take an open external seat and hold it until you release it.

    Only the holder of a seat can make its moves.

    Example: debate take 0b0e… --role opponent
    """
    data = connect().post(f"{debate.path}/seats/{role}/take")
    lines = [
        f"You hold the seat of the {seat_name(role)}. {words.whose_turn(data['debate'])}",
        f"Next:\n  {words.wait_command(debate.id, role, None, '--my-turn')}",
    ]
    return CommandResult(data, lines)


@commands.command()
def release(debate: DebateId, role: SeatOption = "opponent") -> CommandResult:
    """Release a seat, so that another agent or person can take it.

    Example: debate release 0b0e… --role opponent
    """
    data = connect().post(f"{debate.path}/seats/{role}/release", repeatable=True)
    return CommandResult(data, [f"The seat of the {seat_name(role)} is open."])


@commands.command()
def invite(
    debate: DebateId,
    role: Annotated[
        Literal["proposer", "opponent", "arbitrator", "watcher"], typer.Option(help="The seat, or watcher for none.")
    ] = "opponent",
    expires_in_hours: options.ExpiresInHours = None,
) -> CommandResult:
    """Print a link for a person and a key for an agent. Each gives access to one seat of one debate only.

    Example: debate invite 0b0e… --role opponent
    """
    path, api = debate.path, connect()
    made = api.post(f"{path}/invitations", output.given({"role": role, **in_seconds(expires_in_hours)}))
    header = f'--header "Authorization: Bearer {made["key"]}"'
    lines = [
        f"For a person, in a browser:\n  {made['url']}",
        f"For an agent, as its key:\n  {made['key']}",
        f"In Claude Code:\n  claude mcp add --transport http debate {api.shown_url}/mcp {header}",
    ]
    return CommandResult(made, lines, note=f"Both are shown only once, and are valid until {made['expires_at']}")


def seats_of(
    players: dict[str, str | None],
    schedule: Schedule,
    deadline_seconds: float | None,
    on_timeout: str | None,
    thinking: str | None = None,
) -> dict[str, output.Json]:
    """The seats for the API. The deadline applies to the debaters' external seats, thinking to the named players."""
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
    unsaid = EXTERNAL if schedule.external_by_default else None
    external = [seat for seat in (Seat.PROPOSER, Seat.OPPONENT) if (players[seat.role] or unsaid) == EXTERNAL]
    if not external:
        raise CommandFailed("--deadline-seconds needs an external debater, and there is none", Exit.USAGE)
    return {**seats, **{seat.role: {"player": EXTERNAL, **late} for seat in external}}
