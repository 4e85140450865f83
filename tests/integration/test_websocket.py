"""A debate over a real WebSocket."""

import json
from uuid import uuid4

import pytest
from harness import Api, Place, wait_until
from watchers import Heard, a_dialogue, argue, closing, heard, watching
from websockets.sync.client import ClientConnection


def said(event: str, **data: object) -> str:
    return json.dumps({"event": event, "data": data})


def test_a_watcher_gets_the_debate_so_far_and_then_each_turn(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    first = argue(api, debate_id, motion)
    with watching(api, debate_id) as socket:
        event, data = heard(socket)
        assert event == "initial_state"
        assert data["debate"] == api.debate(debate_id)
        assert [argument["id"] for argument in data["arguments"]] == [motion, first]
        second = argue(api, debate_id, first, role="proposer")
        event, data = heard(socket)
        assert (event, data["argument"]["id"], data["debate"]["argument_count"]) == ("new_argument", second, 3)


@pytest.mark.parametrize("after_seq", [0, 1, 2, 3])
def test_a_watcher_comes_back_after_each_possible_seq(api: Api, after_seq: int) -> None:
    debate_id, motion = a_dialogue(api)
    argue(api, debate_id, argue(api, debate_id, motion), role="proposer")
    with watching(api, debate_id, after_seq=after_seq) as socket:
        _, data = heard(socket)
    assert [argument["seq"] for argument in data["arguments"]] == list(range(after_seq + 1, 4))


def test_a_change_without_a_turn_is_told(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        for path, status in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
            api.http.post(f"/debates/{debate_id}/{path}")
            event, data = heard(socket)
            assert (event, data["debate"]["status"]) == ("state_changed", status)


def test_a_resolution_and_its_ruling_come_as_two_turns_in_order(api: Api) -> None:
    debate_id, motion = a_dialogue(api)
    first = argue(api, debate_id, motion)
    with watching(api, debate_id) as socket:
        heard(socket)
        argue(api, debate_id, first, path="resolution")
        assert [heard(socket)[1]["argument"]["type"] for _ in range(2)] == ["RESOLUTION", "RULING"]


def test_a_models_words_are_passed_on_as_they_come(api: Api, module_place: Place) -> None:
    debate_id, _ = a_dialogue(api)
    delta = {"round": 1, "role": "opponent", "text": "Deliveries still"}
    with watching(api, debate_id) as socket:
        heard(socket)
        message = json.dumps({"event": "argument_delta", "data": delta}, separators=(",", ":"))
        module_place.redis().publish(f"debate:events:{debate_id}", message)
        assert heard(socket) == ("argument_delta", delta)


def test_a_person_intervenes_and_rules_from_the_socket(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        socket.send(said("submit_intervention", debate_id=debate_id))
        event, data = heard(socket)
        assert (event, data["argument"]["type"]) == ("new_argument", "INTERVENTION")
        assert data["debate"]["state"] == "INTERVENTION_PENDING"
        socket.send(said("submit_ruling", debate_id=debate_id, content="Enough.", close=True))
        event, data = heard(socket)
        assert (data["argument"]["content"], data["debate"]["state"]) == ("Enough.", "CLOSED")


def test_what_is_wrong_with_a_message_is_told_to_its_sender_alone(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    other, _ = a_dialogue(api)
    wrong = [
        ("nonsense", "INVALID_INPUT"),
        ("[1]", "INVALID_INPUT"),
        ("1" * 5000, "INVALID_INPUT"),
        ("[" * 30_000, "INVALID_INPUT"),
        (said("dance"), "INVALID_INPUT"),
        (json.dumps({"event": "submit_ruling"}), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=debate_id), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=debate_id, content="words", closing=True), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=debate_id, content=" "), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=debate_id, content="\0"), "INVALID_INPUT"),
        (said("submit_ruling", debate_id="one", content="words"), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=other, content="words"), "INVALID_INPUT"),
        (said("submit_ruling", debate_id=debate_id, content="x" * 10_241), "CONTENT_TOO_LARGE"),
        # Nobody has called the arbitrator.
        (said("submit_ruling", debate_id=debate_id, content="words"), "ACTION_NOT_ALLOWED"),
    ]
    with watching(api, debate_id) as socket, watching(api, debate_id) as neighbour:
        heard(socket)
        heard(neighbour)
        for message, code in wrong:
            socket.send(message)
            event, data = heard(socket)
            assert (event, data["code"]) == ("error", code), message[:80]
            assert data["message"]
        assert data["current_state"] == "AWAITING_OPPONENT"
        # Still open, and the neighbour heard nothing of it.
        socket.send(said("submit_intervention", debate_id=debate_id))
        assert heard(socket)[0] == heard(neighbour)[0] == "new_argument"


def test_a_debate_that_is_not_there_or_goes_away_closes_with_4404(api: Api) -> None:
    with watching(api, str(uuid4())) as socket:
        assert closing(socket) == 4404
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        api.http.delete(f"/debates/{debate_id}")
        assert closing(socket) == 4404


@pytest.mark.parametrize("query", [{"after_seq": -1}, {"after_seq": "x"}, {"after_seq": 2}, {"colour": "red"}], ids=str)
def test_a_bad_request_closes_with_4400(api: Api, query: dict[str, object]) -> None:
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id, **query) as socket:
        assert closing(socket) == 4400
    with watching(api, "no-uuid") as socket:
        assert closing(socket) == 4400
    with watching(api, after_seq=1) as socket:
        assert closing(socket) == 4400


def test_whoever_saw_more_elsewhere_is_welcome_where_that_has_not_arrived_yet(api: Api, module_place: Place) -> None:
    """Another process told it; here the publish was lost, and the next comparison is seconds away."""
    elsewhere = module_place.start_api(failpoints="publish.before=lost")
    debate_id, motion = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        first = argue(elsewhere, debate_id, motion)
        with watching(api, debate_id, after_seq=2) as back:
            assert heard(back)[1]["arguments"] == []
            second = argue(elsewhere, debate_id, first, "proposer")
            assert heard(back)[1]["argument"]["id"] == second
        assert [heard(socket)[1]["argument"]["id"] for _ in range(2)] == [first, second]


def test_a_page_of_another_site_is_closed_with_4403(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    own = str(api.http.base_url).rstrip("/")
    for origin, is_welcome in ((own, True), ("https://evil.example", False), ("null", False), ("", False)):
        with watching(api, debate_id, {"origin": origin}) as socket:
            assert (heard(socket)[0] == "initial_state") if is_welcome else (closing(socket) == 4403)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x83\x80\0\0\0\0", 1002),  # an opcode that does not exist
        (b"\x81\x01x", 1002),  # a client that does not mask
        (b"\xc1\x80\0\0\0\0", 1002),  # a reserved bit
        (b"\x80\x80\0\0\0\0", 1002),  # goes on with a message that never began
        (b"\x81\x81\0\0\0\0\xff", 1007),  # text that is no UTF-8
        (b"\x82\x81\0\0\0\0\x01", 1003),  # binary
        (b"\x89\xfe\x01\x00\0\0\0\0", 1002),  # a ping longer than a ping may be
        (b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0" + b"x" * 100_000, 1009),  # endless
    ],
    ids=["opcode", "unmasked", "reserved", "continuation", "utf8", "binary", "long-ping", "too-big"],
)
def test_frames_that_break_the_rules_have_their_close_code(api: Api, frame: bytes, code: int) -> None:
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        socket.socket.sendall(frame)
        assert closing(socket) == code


def test_a_message_in_pieces_with_a_ping_between_is_one_message(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as socket:
        heard(socket)
        text = said("submit_intervention", debate_id=debate_id, content="Halt: ½ € 😀")
        socket.send([text[:20], text[20:]])
        assert heard(socket)[1]["argument"]["content"] == "Halt: ½ € 😀"
        assert socket.ping().wait(60)


def test_what_is_no_handshake_is_refused_in_words(api: Api) -> None:
    answer = api.http.get("/ws")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    for headers in ({}, {"Sec-WebSocket-Version": "13"}, {"Sec-WebSocket-Key": "a", "Sec-WebSocket-Version": "8"}):
        answer = api.http.get("/ws", headers={"Connection": "Upgrade", "Upgrade": "websocket", **headers})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT"), headers
    assert api.http.post("/ws").status_code in (400, 405)


def heard_of(socket: ClientConnection, debate_id: str) -> Heard:
    """The feed tells also what changed shortly before it was opened; this skips the debates of other tests."""
    while True:
        event, data = heard(socket)
        if data.get("debate_id") == debate_id or data.get("debate", {}).get("id") == debate_id:
            return event, data


def test_operators_see_every_debate_that_changes(api: Api) -> None:
    with watching(api) as socket:
        debate_id, motion = a_dialogue(api)
        assert heard_of(socket, debate_id) == ("debate_changed", {"debate": api.debate(debate_id)})
        argue(api, debate_id, motion)
        assert heard_of(socket, debate_id)[1]["debate"]["argument_count"] == 2
        api.http.post(f"/debates/{debate_id}/stop")
        assert heard_of(socket, debate_id)[1]["debate"]["status"] == "stopped"
        api.http.delete(f"/debates/{debate_id}")
        assert heard_of(socket, debate_id) == ("debate_deleted", {"debate_id": debate_id})


def test_operators_rule_on_any_debate(api: Api) -> None:
    debate_id, _ = a_dialogue(api)
    nowhere = str(uuid4())
    with watching(api) as socket:
        socket.send(said("submit_intervention", debate_id=nowhere))
        socket.send(said("submit_intervention", debate_id=debate_id))
        told = [heard(socket)]
        while told[-1][0] != "debate_changed" or told[-1][1]["debate"]["state"] != "INTERVENTION_PENDING":
            told.append(heard(socket))
        assert [data["code"] for event, data in told if event == "error"] == ["DEBATE_NOT_FOUND"]


def test_a_token_is_wanted_where_there_is_one(place: Place) -> None:
    token = f"token-{uuid4()}"
    api = place.start_api(auth_token=token, allowed_origins=("https://pages.example",))
    api.http.headers["Authorization"] = f"Bearer {token}"
    debate_id, _ = a_dialogue(api)
    for named in (debate_id, None, str(uuid4())):
        for presented in (None, "wrong"):
            with watching(api, named, token=presented) as socket:
                assert closing(socket) == 4401
    with watching(api, debate_id, token=token) as socket:
        assert heard(socket)[0] == "initial_state"
    header = {"additional_headers": {"Authorization": f"Bearer {token}"}, "origin": "https://pages.example"}
    with watching(api, debate_id, header) as socket:
        assert heard(socket)[0] == "initial_state"


def test_the_next_listener_is_refused_before_requests_starve(place: Place) -> None:
    api = place.start_api(max_listeners=3)
    debate_id, _ = a_dialogue(api)
    with watching(api, debate_id) as first, watching(api) as second:
        with watching(api, debate_id) as third:
            assert {heard(first)[0], heard(third)[0]} == {"initial_state"}
            assert second.ping().wait(60)
            with watching(api, debate_id) as socket:
                assert closing(socket) == 1013
            for path in ("stream", "wait?role=opponent"):
                answer = api.http.get(f"/debates/{debate_id}/{path}")
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
                assert int(answer.headers["Retry-After"]) > 0
            assert api.http.get(f"/debates/{debate_id}").status_code == 200
        wait = f"/debates/{debate_id}/wait?role=opponent"
        wait_until(lambda: api.http.get(wait).status_code == 200, 60, "there is room again")


def test_a_server_that_ends_says_1001_and_nobody_misses_a_turn(place: Place) -> None:
    api = place.start_api()
    debate_id, motion = a_dialogue(api)
    with watching(api, debate_id) as socket:
        assert heard(socket)[1]["debate"]["argument_count"] == 1
        with watching(api) as operator:
            place.programs[-1].terminate()
            assert (closing(socket), closing(operator)) == (1001, 1001)
    assert place.programs[-1].wait(60) == 0
    again = place.start_api()
    argue(again, debate_id, motion)
    with watching(again, debate_id, after_seq=1) as socket:
        assert [argument["seq"] for argument in heard(socket)[1]["arguments"]] == [2]
