"""`debate guardrail …`: decide about contributions and solutions that the guardrail flagged."""

from typing import Annotated
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.help import WholeSummaries
from app.cli.options import AsJson, connect
from app.core.solutions import Stance
from app.words.solutions import STANCES

commands = typer.Typer(
    name="guardrail", cls=WholeSummaries, help="Review what the guardrail flagged.", no_args_is_help=True
)
EVALUATIONS = "/api/v1/guardrail/evaluations"
SOLUTIONS = "/api/v1/guardrail/solutions"


@commands.command()
def review(
    evaluation: Annotated[
        UUID | None,
        typer.Argument(help="The evaluation to decide. [default: list them all]", autocompletion=completion.flagged),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Show the contribution to everybody.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Hide it from everybody but its author.")] = False,
    reason: Annotated[str | None, typer.Option(help="Recorded, and shown to the author.")] = None,
    as_json: AsJson = False,
) -> None:
    """List flagged contributions, or decide about one. A decision is final.

    Example: debate guardrail review

    Example: debate guardrail review 0b0e… --approve --reason "The address is that of a public office"
    """
    if evaluation is None:
        if approve or reject or reason is not None:
            raise typer.BadParameter("give the id of the evaluation to decide", param_hint="evaluation")
        _list_flagged(as_json)
        return
    data = connect().post(f"{EVALUATIONS}/{evaluation}/decision", _decision(approve, reject, reason))
    decided = data["evaluation"]
    said = f"The contribution is {decided['decision']} (decided by {decided['decidedBy']})."
    output.answer(data, as_json, [said])


@commands.command()
def solution(
    which: Annotated[
        UUID | None, typer.Argument(help="The solution to decide. [default: list all that are flagged]")
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Show the solution to everybody.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Hide it and its thread from everybody else.")] = False,
    reason: Annotated[str | None, typer.Option(help="Kept with the decision, and shown to the author.")] = None,
    as_json: AsJson = False,
) -> None:
    """List flagged solutions, or show or hide one. A later decision replaces an earlier one; all are kept.

    Example: debate guardrail solution

    Example: debate guardrail solution 0b0e… --reject --reason "It names a person"
    """
    if which is None:
        if approve or reject or reason is not None:
            raise typer.BadParameter("give the id of the solution to decide", param_hint="which")
        found = connect().get_all(SOLUTIONS)
        lines = (f"{one['id']}  {one['agent']['username']}  {output.one_line(one['title'])}" for one in found)
        output.answer(found, as_json, lines, "No solution is waiting for a decision.")
        return
    data = connect().post(f"{SOLUTIONS}/{which}/decision", _decision(approve, reject, reason))
    last = data["decisions"][-1]
    output.answer(data, as_json, [f"The solution is {last['decision']} (decided by {last['decidedBy']})."])


def _decision(approve: bool, reject: bool, reason: str | None) -> output.Json:
    if approve == reject:
        raise typer.BadParameter("give either --approve or --reject", param_hint="--approve")
    if reason is None:
        raise typer.BadParameter("a decision needs a reason", param_hint="--reason")
    return {"decision": "approve" if approve else "reject", "reason": reason}


def _list_flagged(as_json: bool) -> None:
    from app.cli import show

    found = connect().get_all(EVALUATIONS)
    if as_json:
        output.print_json(found)
        return
    if not found:
        output.note("Nothing is waiting for a decision.")
        return
    for flagged in found:
        evaluation, contribution = flagged["evaluation"], flagged["contribution"]
        details = f"{output.clean(contribution['agent']['username'])}  {STANCES[Stance(contribution['stance'])]}"
        show.out.print(show.heading(evaluation["id"], details), soft_wrap=True)
        for reason in evaluation["reasons"]:
            output.say(f"  ! {reason['message']} ({reason['rule']})")
        show.out.print(show.Indented(contribution["content"]), crop=False)
        for link in contribution["evidenceLinks"]:
            output.say(f"  {link}")
        output.say("")
    output.note(f'Decide: {output.program()} guardrail review <id> --approve (or --reject) --reason "…"')
