"""`debate webhooks …`: endpoints, their deliveries, and a receiver for trials."""

import json
import sys
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from app.cli import output
from app.cli.command import AsJson, CommandResult, Commands
from app.cli.errors import CommandFailed, Exit
from app.cli.options import connect
from app.core.webhooks import WebhookEvent
from app.words.counts import count
from app.words.webhooks import delivery as delivery_name

if TYPE_CHECKING:
    from app.cli.client import Api
    from app.cli.receiver import Receiver

commands = Commands(name="webhooks", help="Manage webhooks and their deliveries.")

WEBHOOKS = "/webhooks"
WebhookId = Annotated[UUID, typer.Argument(help="The webhook's id: `debate webhooks list` shows it.")]
Events = Annotated[
    list[WebhookEvent] | None,
    typer.Option(
        "--event",
        metavar="<event>",
        help=f"An event to send: {', '.join(WebhookEvent)}; can be repeated. [default: all]",
    ),
]


@commands.command()
def create(
    url: Annotated[str, typer.Argument(help="Where messages are sent with POST.")],
    events: Events = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
) -> CommandResult:
    """Register an endpoint and print the secret that verifies its messages. The secret is shown only once.

    Example: debate webhooks create https://example.org/hooks --event debate.completed --event debate.failed
    """
    made = _register(connect(), url, events, description)
    lines = [f"Webhook {made['id']} receives {', '.join(made['events'])}.", f"Secret: {made['secret']}"]
    test = f"{output.program()} webhooks test {made['id']}"
    return CommandResult(made, lines, note=f"The secret is shown only once. Send a test message: {test}")


@commands.command("list")
def list_() -> CommandResult:
    """List the endpoints.

    Example: debate webhooks list
    """
    found = connect().get(WEBHOOKS)["webhooks"]
    nothing = f"No webhooks yet. Register one: {output.program()} webhooks create <url>"
    return CommandResult(found, map(_lines, found), nothing)


def _lines(webhook: output.Json) -> str:
    state = "on" if webhook["is_enabled"] else f"off: {webhook['disabled_reason']}"
    about = f"  ({output.one_line(webhook['description'])})" if webhook["description"] else ""
    return f"{webhook['id']}  {webhook['url']}  {state}{about}\n  {' '.join(webhook['events'])}"


@commands.command()
def deliveries(webhook_id: WebhookId) -> CommandResult:
    """List the latest deliveries of an endpoint, each with its result.

    Example: debate webhooks deliveries 0b0e…
    """
    found = connect().get(f"{WEBHOOKS}/{webhook_id}/deliveries")["deliveries"]
    return CommandResult(found, map(_line, found), "No deliveries yet.")


@commands.command()
def replay(
    webhook_id: WebhookId,
    delivery_id: Annotated[UUID, typer.Argument(help="The delivery's id: `debate webhooks deliveries` shows it.")],
) -> CommandResult:
    """Send a delivery again, even after its last attempt failed.

    Example: debate webhooks replay 0b0e… 9c1d…
    """
    path = f"{WEBHOOKS}/{webhook_id}/deliveries/{delivery_id}/replay"
    delivery = connect().post(path, repeatable=True)["delivery"]
    return CommandResult(delivery, [_line(delivery)])


@commands.command("test")
def send_test(webhook_id: WebhookId) -> CommandResult:
    """Send a test message (webhook.test) to an endpoint.

    Example: debate webhooks test 0b0e…
    """
    delivery = connect().post(f"{WEBHOOKS}/{webhook_id}/test")["delivery"]
    see = f"See the result: {output.program()} webhooks deliveries {webhook_id}"
    return CommandResult(delivery, [_line(delivery)], note=see)


@commands.command()
def delete(webhook_id: WebhookId) -> CommandResult:
    """Delete an endpoint with its deliveries.

    Example: debate webhooks delete 0b0e…
    """
    return CommandResult(connect().delete(f"{WEBHOOKS}/{webhook_id}"), ["The webhook is deleted."])


@commands.command()
def listen(
    events: Events = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)] = 0,
    url: Annotated[
        str | None, typer.Option(help="The URL at which the server reaches this machine, such as that of a tunnel.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(help="The secret of an endpoint that is already registered."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="End after this many messages.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Receive messages on this machine, verify their signatures and print them, until Ctrl-C.

    Registers an endpoint while it runs. A server sends to loopback only with DEBATE_WEBHOOKS_PRIVATE=true. For a
    server on another machine, give the URL of a tunnel with --url.

    Example: debate webhooks listen --event debate.completed
    """
    from app.cli.receiver import Receiver

    if secret is not None and (events or url):
        raise CommandFailed("--event and --url cannot be combined with --secret", Exit.USAGE)
    receiver = Receiver(host, port)
    with receiver.running():
        if secret is not None:
            receiver.secret = _checked_secret(secret)
            output.note(f"Listening on {receiver.url}. Ctrl-C ends it")
            _print_messages(receiver, count, as_json)
        else:
            _listen_registered(connect(), receiver, url or receiver.url, events, count, as_json)


def _listen_registered(
    api: "Api", receiver: "Receiver", url: str, events: list[WebhookEvent] | None, count: int | None, as_json: bool
) -> None:
    made = _register(api, url, events, "debate webhooks listen")
    try:
        receiver.secret = made["secret"]
        output.note(f"Webhook {made['id']} sends to {url}; listening on {receiver.url}. Ctrl-C ends it")
        _print_messages(receiver, count, as_json)
    finally:
        try:
            api.delete(f"{WEBHOOKS}/{made['id']}")
        except CommandFailed as problem:
            later = f"Remove the webhook later: {output.program()} webhooks delete {made['id']}"
            output.note(f"{problem.message}. {later}")


def _print_messages(receiver: "Receiver", count: int | None, as_json: bool) -> None:
    got: list[output.Json] = []
    try:
        while count is None or len(got) < count:
            message = receiver.next()
            got.append(message)
            if not as_json:
                data = json.dumps(message["data"], ensure_ascii=False)
                output.say(output.one_line(f"{message['timestamp']}  {message['type']}  {data}"))
                # A file or a pipe would get it only after the buffer is full.
                sys.stdout.flush()
    finally:
        if as_json:
            output.print_json({"messages": got})


def _checked_secret(secret: str) -> str:
    from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

    try:
        Webhook(secret)
    except (ValueError, EmptyWebhookSecretError):
        raise CommandFailed("This is not a webhook's secret", Exit.USAGE, "It begins with whsec_") from None
    return secret


def _register(api: "Api", url: str, events: list[WebhookEvent] | None, description: str | None) -> output.Json:
    body = {"url": url, "events": [event.value for event in events or WebhookEvent], "description": description}
    made: output.Json = api.post(WEBHOOKS, output.given(body))["webhook"]
    return made


def _line(delivery: output.Json) -> str:
    status, attempts, error = delivery["status"], delivery["attempts"], delivery["last_error"]
    problem = f": {error}" if error and status != "delivered" else ""
    what = delivery_name(status).lower() + (f" after {count(attempts, 'attempt')}" if attempts else "")
    return output.one_line(f"{delivery['created_at']}  {delivery['event']:<20} {delivery['id']}  {what}{problem}")
