"""`debate guardrail review`."""

from rich.text import Text

from app.cli import show
from app.cli.client import Api
from app.settings import Settings

EVALUATIONS = "/api/v1/guardrail/evaluations"


def list_flagged(settings: Settings, as_json: bool) -> None:
    found = Api.of(settings).get_all(EVALUATIONS)
    if as_json:
        show.print_json(found)
        return
    if not found:
        show.err.print("Nothing waits for a decision.")
        return
    for review in found:
        evaluation, contribution = review["evaluation"], review["contribution"]
        title = Text(evaluation["id"], style="bold")
        title.append(f"  {show.clean(contribution['agent']['username'])}  {contribution['stance']}", style="dim")
        show.out.print(title, soft_wrap=True)
        for reason in evaluation["reasons"]:
            show.say(f"  ! {reason['message']} ({reason['rule']})")
        show.out.print(show.Indented(contribution["content"]), crop=False)
        for link in contribution["evidenceLinks"]:
            show.say(f"  {link}")
        show.say("")
    show.err.print('Decide: debate guardrail review <id> --approve (or --reject) --reason "…"', soft_wrap=True)


def decide(settings: Settings, evaluation_id: str, decision: str, reason: str, as_json: bool) -> None:
    body = {"decision": decision, "reason": reason}
    data = Api.of(settings).post(f"{EVALUATIONS}/{evaluation_id}/decision", body)
    if as_json:
        show.print_json(data)
        return
    evaluation = data["evaluation"]
    show.say(f"The contribution is {evaluation['decision']}, as {evaluation['decidedBy']} decided.")
