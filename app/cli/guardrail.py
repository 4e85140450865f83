"""`debate guardrail …`: decide about contributions and solutions that the guardrail flagged."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import typer

from app.cli import completion, output
from app.cli.command import CommandResult, Commands
from app.cli.options import connect
from app.core.solutions import Stance
from app.words.solutions import STANCES

commands = Commands(name="guardrail", help="Review what the guardrail flagged.")
EVALUATIONS = "/api/v1/guardrail/evaluations"
SOLUTIONS = "/api/v1/guardrail/solutions"


@dataclass(frozen=True)
class DecisionOptions:
    approve: Annotated[bool, typer.Option("--approve", help="Show it to everyone.")] = False
    reject: Annotated[bool, typer.Option("--reject", help="Hide it from everyone except its author.")] = False
    reason: Annotated[str | None, typer.Option(help="Stored, and shown to the author.")] = None

    def send(self, path: str, flagged: UUID) -> output.Json:
        if self.approve == self.reject:
            raise typer.BadParameter("give either --approve or --reject", param_hint="--approve")
        if self.reason is None:
            raise typer.BadParameter("a decision needs a reason", param_hint="--reason")
        body = {"decision": "approve" if self.approve else "reject", "reason": self.reason}
        return connect().post(f"{path}/{flagged}/decision", body)

    def refuse(self, argument: str) -> None:
        """Refuses a decision without the id of what it is about."""
        if self != DecisionOptions():
            raise typer.BadParameter(f"give the id of the {argument} to decide", param_hint=argument)


@commands.command()
def review(
    decision: DecisionOptions,
    evaluation: Annotated[
        UUID | None,
        typer.Argument(help="The evaluation to decide. [default: list them all]", autocompletion=completion.flagged),
    ] = None,
) -> CommandResult:
    """List flagged contributions, or decide about one. A decision is final.

    Example: debate guardrail review

    Example: debate guardrail review 0b0e… --approve --reason "The address is that of a public office"
    """
    if evaluation is None:
        decision.refuse("evaluation")
        found = connect().get_all(EVALUATIONS)
        decide = f'Decide: {output.program()} guardrail review <id> --approve (or --reject) --reason "…"'
        return CommandResult(found, _flagged(found), "Nothing is waiting for a decision.", decide if found else None)
    data = decision.send(EVALUATIONS, evaluation)
    decided = data["evaluation"]
    return CommandResult(data, [f"The contribution is {decided['decision']} (decided by {decided['decidedBy']})."])


@commands.command()
def solution(
    decision: DecisionOptions,
    which: Annotated[
        UUID | None, typer.Argument(help="The solution to decide. [default: list all that are flagged]")
    ] = None,
) -> CommandResult:
    """List flagged solutions, or decide about one.

    A rejected solution is hidden with its thread. A later decision replaces an earlier one; all are stored.

    Example: debate guardrail solution

    Example: debate guardrail solution 0b0e… --reject --reason "It names a person"
    """
    if which is None:
        decision.refuse("solution")
        found = connect().get_all(SOLUTIONS)
        lines = (f"{one['id']}  {one['agent']['username']}  {output.one_line(one['title'])}" for one in found)
        return CommandResult(found, lines, "No solution is waiting for a decision.")
    data = decision.send(SOLUTIONS, which)
    last = data["decisions"][-1]
    return CommandResult(data, [f"The solution is {last['decision']} (decided by {last['decidedBy']})."])


def _flagged(found: list[output.Json]) -> Iterator[str]:
    from app.cli import show

    for flagged in found:
        evaluation, contribution = flagged["evaluation"], flagged["contribution"]
        details = f"{output.clean(contribution['agent']['username'])}  {STANCES[Stance(contribution['stance'])]}"
        show.out.print(show.heading(evaluation["id"], details), soft_wrap=True)
        for reason in evaluation["reasons"]:
            yield f"  ! {reason['message']} ({reason['rule']})"
        show.out.print(show.Indented(contribution["content"]), crop=False)
        for link in contribution["evidenceLinks"]:
            yield f"  {link}"
        yield ""
