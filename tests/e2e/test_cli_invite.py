"""`debate invite`: what it prints opens one seat, for a person and for a program of debate_client."""

import json
from collections.abc import Iterator

import httpx
import pytest
from agents import TOKEN, operator
from cli_home import Home, assert_one_sentence, new_home
from harness import Api, Place
from watchers import EXTERNAL

from debate_client import Client, Forbidden, Seat


@pytest.fixture
def api(place: Place) -> Api:
    return place.start_api(auth_token=TOKEN)


@pytest.fixture
def home(api: Api) -> Iterator[Home]:
    with new_home(DEBATE_SERVER_URL=str(api.http.base_url).rstrip("/"), DEBATE_AUTH_TOKEN=TOKEN) as made:
        yield made


def test_the_link_and_the_key_open_one_seat_and_a_program_holds_it(place: Place, api: Api, home: Home) -> None:
    place.start_worker()
    server = str(api.http.base_url).rstrip("/")
    boss = Client(server, TOKEN)
    debate = boss.create("Cities should ban cars", format="rounds", seats={"opponent": "external"}).debate
    said = home.debate("invite", debate.id, "--role", "opponent")
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


def test_json_and_refusals(api: Api, home: Home) -> None:
    answer = operator(api).post("/debates", {**NEW, "seats": EXTERNAL})
    debate_id = answer.json()["data"]["debate"]["id"]
    made = json.loads(home.debate("invite", debate_id, "--role", "watcher", "--json").stdout)
    assert (made["role"], made["key"][:4]) == ("watcher", "dbs_")
    assert_one_sentence(home.debate("invite", "00000000-0000-4000-8000-000000000000"), 1, "no debate")
    assert home.debate("invite", debate_id, "--role", "king").process.returncode == 2
    refused = home.debate("invite", debate_id, DEBATE_AUTH_TOKEN=made["key"])
    assert_one_sentence(refused, 4, "This invitation gives access to one seat of one debate only")


def test_invitations_are_listed_and_revoked(api: Api, home: Home) -> None:
    answer = operator(api).post("/debates", {**NEW, "seats": EXTERNAL})
    debate_id = answer.json()["data"]["debate"]["id"]
    assert "No invitations" in home.debate("invitations", "list", debate_id).stderr
    made = json.loads(home.debate("invite", debate_id, "--json").stdout)
    said = home.debate("invitations", "list", debate_id).stdout
    assert made["id"] in said
    assert made["key"][4:] not in said
    boss = Client(str(api.http.base_url).rstrip("/"), TOKEN)
    assert [(one.id, one.role, one.invited_by) for one in boss.invitations(debate_id)] == [
        (made["id"], "opponent", "operator")
    ]
    ended = home.debate("invitations", "revoke", debate_id, "--invitation", made["id"])
    assert "is revoked" in ended.stdout
    assert httpx.get(made["url"]).status_code == 404
    assert boss.invitations(debate_id) == ()
    assert boss.revoke_invitation(debate_id, made["id"])
    assert json.loads(home.debate("invitations", "list", debate_id, "--json").stdout) == {"invitations": []}
    unknown = "00000000-0000-4000-8000-000000000000"
    assert_one_sentence(home.debate("invitations", "revoke", debate_id, "--invitation", unknown), 1, "no invitation")


NEW = {
    "title": "Cars",
    "debate_type": "general_debate",
    "motion_content": "Ban cars",
    "client_request_id": "once",
    "format": "dialogue",
}
