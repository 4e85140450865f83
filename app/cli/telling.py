"""A debate printed as it goes on."""

from collections.abc import Iterable

from app.cli import show
from app.cli.client import Json
from app.cli.follow import News
from app.core.seats import Seat

SHOWN_WORDS = 60
"""Letters of what a model is just saying, beside the spinner."""


def tell(news: Iterable[News], as_json: bool) -> tuple[Json, list[Json]]:
    """Prints each argument as it comes; the debate as it was at the end, and all that was said."""
    told: list[Json] = []
    shown_round = 0
    speech = ""
    debate: Json = {}
    with show.spinner("Waiting for the first turn", as_json) as say:
        for change in news:
            if change.words:
                speech = (speech + change.words)[-SHOWN_WORDS:]
                say(f"{_thinking(debate)}: {show.one_line(speech)}")
                continue
            speech = ""
            debate = change.debate or debate
            told += change.arguments
            for argument in [] if as_json else change.arguments:
                if argument["round"] and argument["round"] > shown_round:
                    shown_round = argument["round"]
                    show.out.print(show.round_title(shown_round, debate["limits"]["max_rounds"]))
                is_motion = argument["type"] == "MOTION"
                lines = show.motion_lines(argument) if is_motion else show.argument_lines(argument)
                show.out.print(lines, crop=False)
            say(_thinking(debate))
    if not as_json:
        table = show.verdict_table(debate)
        if table is not None:
            show.out.print(table)
        show.out.print(f"\n{show.safe(show.ending(debate))}  [dim]{debate['id']}[/]", soft_wrap=True)
    return debate, told


def _thinking(debate: Json) -> str:
    if debate["attempts"]:
        return f"{debate['last_error']} (attempt {debate['attempts']} failed; trying again)"
    if debate["state"] == "CLOSED":
        return ""
    role = Seat.of_actor(debate["next_actor"]).role
    if debate["status"] == "paused":
        return f"The debate is paused; the {role} has the floor"
    player = debate["seats"][role]["player"]
    return f"Waiting for the {role}" if player == "external" else f"The {role} is thinking"
