"""`debate watch`, as a user would run it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from byte_proxy import byte_proxy
from harness import REPOSITORY, Api, Place, wait_until
from watchers import a_dialogue, argue

from app.cli.stack import free_port

NOBODY = "00000000-0000-4000-8000-000000000000"


class Watch:
    def __init__(self, directory: Path, server: str, *arguments: str, **settings: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DEBATE_")}
        environment = {**inherited, "PYTHONPATH": str(REPOSITORY), "DEBATE_SERVER_URL": server, **settings}
        self.output, self.complaints = directory / "out", directory / "err"
        with self.output.open("wb") as stdout, self.complaints.open("wb") as stderr:
            command = [sys.executable, "-m", "app.cli", "watch", *arguments]
            self.process = subprocess.Popen(
                command,
                env=environment,
                cwd=directory,
                stdout=stdout,
                stderr=stderr,
                # In the background of a script SIGINT is ignored, and that is inherited; at a terminal it is not.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def wait_for(self, words: str) -> None:
        wait_until(lambda: words in self.output.read_text() + self.complaints.read_text(), 60, f"{words!r} is printed")

    def end(self) -> int:
        return self.process.wait(60)


def url_of(api: Api) -> str:
    return str(api.http.base_url).rstrip("/")


@pytest.mark.long
def test_a_debate_is_followed_over_a_restart_of_the_server_and_nothing_is_missed_or_told_twice(
    place: Place, tmp_path: Path
) -> None:
    port = free_port("127.0.0.1")
    api = place.start_api(port)
    debate_id, motion = a_dialogue(api)
    watch = Watch(tmp_path, url_of(api), debate_id)
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
    printed = watch.output.read_text()
    found = [printed.find(words) for words in ("Motion", "The first answer.", "The second answer.", "stopped by hand")]
    assert found == sorted(found)
    assert -1 not in found
    assert printed.count("answer.") == 2


def say(api: Api, debate_id: str, target: str, role: str, content: str) -> str:
    body = {"role": role, "target_id": target, "content": content, "client_request_id": content}
    answer = api.http.post(f"/debates/{debate_id}/arguments", json=body)
    assert answer.status_code == 201, answer.text
    argument_id: str = answer.json()["data"]["argument"]["id"]
    return argument_id


def test_json_is_one_document_at_the_end(api: Api, tmp_path: Path) -> None:
    debate_id, motion = a_dialogue(api)
    first = argue(api, debate_id, motion)
    watch = Watch(tmp_path, url_of(api), debate_id, "--json", "--after-seq", "1")
    argue(api, debate_id, first, path="resolution")
    assert watch.end() == 0
    document = json.loads(watch.output.read_text())
    assert document["debate"]["status"] == "completed"
    assert [argument["seq"] for argument in document["arguments"]] == [2, 3, 4]
    assert watch.complaints.read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((NOBODY,), 1, f"There is no debate {NOBODY}"),
        (("one",), 2, "debate_id"),
        ((NOBODY, "--after-seq", "-1"), 2, "--after-seq"),
    ],
    ids=["nobody", "no-id", "negative"],
)
def test_what_cannot_be_watched_is_said(
    api: Api, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    watch = Watch(tmp_path, url_of(api), *arguments)
    assert watch.end() == code
    assert words in watch.complaints.read_text()
    assert "Traceback" not in watch.complaints.read_text()


def test_a_proxy_whose_server_is_restarted_is_asked_again(api: Api, tmp_path: Path) -> None:
    debate_id, motion = a_dialogue(api)
    argue(api, debate_id, argue(api, debate_id, motion), path="resolution")
    with byte_proxy(("127.0.0.1", int(api.http.base_url.port or 0))) as proxy:
        proxy.answers_instead = [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"]
        watch = Watch(tmp_path, f"http://127.0.0.1:{proxy.port}", debate_id)
        assert watch.end() == 0, watch.complaints.read_text()


def test_no_server_is_said_at_once(tmp_path: Path) -> None:
    watch = Watch(tmp_path, f"http://127.0.0.1:{free_port('127.0.0.1')}", NOBODY)
    assert watch.end() == 3
    assert "debate up" in watch.complaints.read_text()


def test_a_wrong_token_is_refused_and_ctrl_c_ends(place: Place, tmp_path: Path) -> None:
    token = f"token-{NOBODY}"
    api = place.start_api(auth_token=token)
    api.http.headers["Authorization"] = f"Bearer {token}"
    debate_id, _ = a_dialogue(api)
    refused = Watch(tmp_path, url_of(api), debate_id, DEBATE_AUTH_TOKEN=token.upper())
    assert refused.end() == 4
    watch = Watch(tmp_path, url_of(api), debate_id, DEBATE_AUTH_TOKEN=token)
    watch.wait_for("Motion")
    watch.process.send_signal(signal.SIGINT)
    assert watch.end() == 130
    assert "Traceback" not in watch.complaints.read_text()
