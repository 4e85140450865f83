"""`debate watch`, as a user would run it."""

import signal

import pytest
from agents import TOKEN, operator
from byte_proxy import byte_proxy
from cli_home import NOBODY, Home, assert_one_sentence, url_of
from harness import Api, Place
from watchers import EXTERNAL, a_dialogue, argue

from app.cli.stack import free_port


@pytest.mark.long
def test_a_debate_is_followed_over_a_restart_of_the_server_and_nothing_is_missed_or_told_twice(
    place: Place, home: Home
) -> None:
    port = free_port("127.0.0.1")
    api = place.start_api(port)
    debate_id, motion = a_dialogue(api)
    watch = home.start("watch", debate_id, DEBATE_SERVER_URL=url_of(api))
    watch.wait_for("Motion")
    first = say(api, debate_id, motion, "opponent", "The first answer.")
    watch.wait_for("The first answer.")
    place.programs[-1].terminate()
    assert place.programs[-1].wait(60) == 0
    watch.wait_for("The connection was lost; reconnecting")
    api = place.start_api(port)
    say(api, debate_id, first, "proposer", "The second answer.")
    watch.wait_for("The second answer.")
    api.http.post(f"/debates/{debate_id}/stop")
    assert watch.end() == 0
    printed = watch.stdout
    found = [printed.find(words) for words in ("Motion", "The first answer.", "The second answer.", "stop request")]
    assert found == sorted(found)
    assert -1 not in found
    assert printed.count("answer.") == 2


def say(api: Api, debate_id: str, target: str, role: str, content: str) -> str:
    body = {"role": role, "target_id": target, "content": content, "client_request_id": content}
    answer = api.http.post(f"/debates/{debate_id}/arguments", json=body)
    assert answer.status_code == 201, answer.text
    argument_id: str = answer.json()["data"]["argument"]["id"]
    return argument_id


def test_json_is_one_document_at_the_end(api: Api, cli: Home) -> None:
    debate_id, motion = a_dialogue(api)
    first = argue(api, debate_id, motion)
    watch = cli.start("watch", debate_id, "--json", "--after-seq", "1")
    argue(api, debate_id, first, path="resolution")
    assert watch.end() == 0
    document = watch.document
    assert document["debate"]["status"] == "completed"
    assert [argument["seq"] for argument in document["arguments"]] == [2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((NOBODY,), 1, f"There is no debate {NOBODY}"),
        (("one",), 2, "debate_id"),
        ((NOBODY, "--after-seq", "-1"), 2, "--after-seq"),
    ],
    ids=["nobody", "no-id", "negative"],
)
def test_what_cannot_be_watched_is_said(cli: Home, arguments: tuple[str, ...], code: int, words: str) -> None:
    watch = cli("watch", *arguments)
    assert watch.code == code
    assert words in watch.stderr
    assert "Traceback" not in watch.stderr


def test_a_proxy_whose_server_is_restarted_is_asked_again(api: Api, cli: Home) -> None:
    debate_id, motion = a_dialogue(api)
    argue(api, debate_id, argue(api, debate_id, motion), path="resolution")
    with byte_proxy(("127.0.0.1", int(api.http.base_url.port or 0))) as proxy:
        proxy.answers_instead = [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"]
        watch = cli("watch", debate_id, DEBATE_SERVER_URL=f"http://127.0.0.1:{proxy.port}")
        assert watch.code == 0, watch.stderr


def test_no_server_is_said_at_once(home: Home) -> None:
    assert_one_sentence(home.debate("watch", NOBODY), 3, "debate up")


def test_a_wrong_token_is_refused(guarded: Api, guarded_cli: Home) -> None:
    debate_id = operator(guarded).client.create("Ban cars", seats=EXTERNAL).debate.id
    assert guarded_cli("watch", debate_id, DEBATE_AUTH_TOKEN=TOKEN.upper()).code == 4
    watch = guarded_cli.start("watch", debate_id)
    watch.wait_for("Motion")
    watch.send(signal.SIGINT)
    assert watch.end() == 130
    assert "Traceback" not in watch.stderr
