"""`debate fork`: a new debate with the same turns up to one of them, and other players after it."""

from typing import Annotated

import typer

from app.cli import completion, output, words
from app.cli.arguments import send
from app.cli.options import AsJson, DebateId, NamedDebateId, RequestId, connect, id_of, page_of

commands = typer.Typer()
Player = Annotated[
    str | None,
    typer.Option(help="Player of this seat in the copy. [default: as in the debate]", autocompletion=completion.seated),
]


@commands.command()
def fork(
    after_seq: Annotated[int, typer.Option(help="The last turn that is copied; the motion is 1.", min=1)],
    debate_id: DebateId = None,
    named: NamedDebateId = None,
    proposer: Player = None,
    opponent: Player = None,
    arbitrator: Player = None,
    max_rounds: Annotated[
        int | None, typer.Option(help="A limit of rounds for the copy. [default: as in the debate]", min=1, max=10_000)
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(help="A limit of cost for the copy, in US dollars. [default: as in the debate]", min=0),
    ] = None,
    client_request_id: RequestId = None,
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
        f"Created debate {debate['id']} with {output.count(after_seq, 'turn')} copied. {words.whose_turn(debate)}",
        f"Page: {page_of(connect(), debate['id'])}\nNext:\n  {output.program()} watch {debate['id']}",
    ]
    output.answer(data, as_json, lines)
