"""`debate invite`: what it prints opens one seat, for a person and for a program of debate_client."""

import json

import httpx
import pytest
from agents import TOKEN
from cli_home import NOBODY, Home, assert_one_sentence, url_of
from harness import Api
from watchers import EXTERNAL

from debate_client import Client, Forbidden, Seat


def test_the_link_and_the_key_open_one_seat_and_a_program_holds_it(guarded: Api, guarded_cli: Home) -> None:
    server = url_of(guarded)
    boss = Client(server, TOKEN)
    debate = boss.create("Cities should ban cars", format="rounds", seats={"opponent": "external"}).debate
    said = guarded_cli("invite", debate.id, "--role", "opponent")
    assert said.process.returncode == 0, said.stderr
    link = next(line.strip() for line in said.stdout.splitlines() if "/join/" in line)
    key = next(line.strip() for line in said.stdout.splitlines() if line.strip().startswith("dbs_"))
    assert f'--header "Authorization: Bearer {key}"' in said.stdout
    assert httpx.get(link).status_code == 200

    client = Client(server, key)
    with pytest.raises(Forbidden):
        client.page()
    seat = Seat("opponent", client)
    seat.answer(lambda turn: f"Against {turn.motion}")
    assert seat.hold(debate.id).status == "completed"
    spoken = [turn for turn in boss.transcript(debate.id).arguments if turn.role == "opponent"]
    assert len(spoken) == 3
    assert boss.debate(debate.id).seats["opponent"]["held_by"].startswith("guest:")


def test_json_and_refusals(guarded: Api, guarded_cli: Home) -> None:
    debate_id = Client(url_of(guarded), TOKEN).create("Ban cars", seats=EXTERNAL).debate.id
    made = json.loads(guarded_cli("invite", debate_id, "--role", "watcher", "--json").stdout)
    assert (made["role"], made["key"][:4]) == ("watcher", "dbs_")
    assert_one_sentence(guarded_cli("invite", NOBODY), 1, "no debate")
    assert guarded_cli("invite", debate_id, "--role", "king").process.returncode == 2
    refused = guarded_cli("invite", debate_id, DEBATE_AUTH_TOKEN=made["key"])
    assert_one_sentence(refused, 4, "This invitation gives access to one seat of one debate only")


def test_invitations_are_listed_and_revoked(guarded: Api, guarded_cli: Home) -> None:
    debate_id = Client(url_of(guarded), TOKEN).create("Ban cars", seats=EXTERNAL).debate.id
    assert "No invitations" in guarded_cli("invitations", "list", debate_id).stderr
    made = json.loads(guarded_cli("invite", debate_id, "--json").stdout)
    said = guarded_cli("invitations", "list", debate_id).stdout
    assert made["id"] in said
    assert made["key"][4:] not in said
    boss = Client(url_of(guarded), TOKEN)
    assert [(one.id, one.role, one.invited_by) for one in boss.invitations(debate_id)] == [
        (made["id"], "opponent", "operator")
    ]
    ended = guarded_cli("invitations", "revoke", debate_id, "--invitation", made["id"])
    assert "is revoked" in ended.stdout
    assert httpx.get(made["url"]).status_code == 404
    assert boss.invitations(debate_id) == ()
    assert boss.revoke_invitation(debate_id, made["id"])
    assert json.loads(guarded_cli("invitations", "list", debate_id, "--json").stdout) == {"invitations": []}
    assert_one_sentence(guarded_cli("invitations", "revoke", debate_id, "--invitation", NOBODY), 1, "no invitation")
