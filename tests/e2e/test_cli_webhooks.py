"""`debate webhooks …` against a real server, and a receiver that verifies."""

import json
import re
import signal

import httpx
import pytest
from cli_home import Home, assert_one_sentence, new_home, url_of
from harness import Api, Place, wait_until

from app.cli.stack import free_port
from app.core.webhooks import WebhookEvent


@pytest.fixture
def api(place: Place) -> Api:
    return place.start_api(webhooks_private=True)


def test_listen_prints_what_happens_and_leaves_nothing_behind(place: Place, api: Api, cli: Home) -> None:
    place.start_worker(webhooks_private=True, webhook_retry_seconds=0.2)
    listening = cli.start("webhooks", "listen", "--event", "debate.started", "--event", "debate.completed")
    listening.wait_for("Ctrl-C ends it")
    found = re.search(r"listening on (\S+)\. ", listening.stderr)
    assert found
    forged = httpx.post(
        found[1], json={"type": "debate.started"}, headers={"webhook-id": "msg_1", "webhook-signature": "v1,abc"}
    )
    assert forged.status_code == 400
    debate = api.create(limits={"max_rounds": 1})
    listening.wait_for("debate.completed")
    lines = listening.stdout.splitlines()
    assert [line.split()[1] for line in lines] == ["debate.started", "debate.completed"]
    assert all(debate["id"] in line for line in lines)
    assert "Refused a message" in listening.stderr
    listening.send(signal.SIGINT)
    assert listening.end() == 130
    assert api.http.get("/webhooks").json()["data"]["webhooks"] == []


def test_every_command_with_a_receiver_that_knows_the_secret(place: Place, api: Api, cli: Home) -> None:
    place.start_worker(webhooks_private=True, webhook_retry_seconds=0.2)
    port = httpx.URL(api.http.base_url).port
    refused = cli("webhooks", "listen", "--port", str(port))
    assert_one_sentence(refused, 2, "Cannot listen")
    port = str(free_port("127.0.0.1"))
    webhook = cli.json("webhooks", "create", f"http://127.0.0.1:{port}/", "--description", "for a test")
    assert webhook["secret"].startswith("whsec_")
    assert webhook["events"] == list(WebhookEvent)
    options = ("--count", "2", "--secret", webhook["secret"], "--port", port)
    listening = cli.start("webhooks", "listen", "--json", *options)
    listening.wait_for(f"Listening on http://127.0.0.1:{port}/")
    assert webhook["id"] in cli("webhooks", "list").stdout
    sent = json.loads(cli("webhooks", "test", webhook["id"], "--json").stdout)

    def shown() -> str:
        return cli("webhooks", "deliveries", webhook["id"]).stdout

    wait_until(lambda: "delivered after 1 attempt" in shown(), 60, "it is delivered")
    assert sent["id"] in shown()
    # The same message again: it is accepted, and not shown again.
    assert "pending" in cli("webhooks", "replay", webhook["id"], sent["id"]).stdout
    listening.wait_for("Delivered again")
    cli("webhooks", "test", webhook["id"])
    assert listening.end() == 0
    messages = json.loads(listening.stdout)["messages"]
    assert [message["type"] for message in messages] == ["webhook.test", "webhook.test"]
    assert cli("webhooks", "delete", webhook["id"]).process.returncode == 0
    assert_one_sentence(cli("webhooks", "delete", webhook["id"]), 1, "There is no webhook")
    assert "No webhooks yet" in cli("webhooks", "list").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "ftp://example.org"), "must be an address"),
        (("create", "http://user:secret@example.org"), "no password"),
        (("listen", "--secret", "whsec_A"), "not a webhook's secret"),
        (("listen", "--secret", "whsec_"), "not a webhook's secret"),
        (("listen", "--secret", "whsec_AAAA", "--url", "http://x"), "cannot be combined with --secret"),
    ],
)
def test_a_mistake_is_one_sentence(cli: Home, arguments: tuple[str, ...], words: str) -> None:
    command = cli("webhooks", *arguments)
    assert_one_sentence(command, command.process.returncode, words)
    assert command.process.returncode in (1, 2)


def test_a_server_that_may_not_send_to_loopback_says_what_allows_it(place: Place) -> None:
    api = place.start_api()
    with new_home(DEBATE_SERVER_URL=url_of(api)) as home:
        assert_one_sentence(home.debate("webhooks", "listen"), 1, "DEBATE_WEBHOOKS_PRIVATE=true")
