"""Seats that can be held: take, release, and what is refused. No worker runs here."""

import pytest
from agents import TOKEN, new_agent
from callers import an_agent
from harness import all_at_once, new_debate
from test_api_envelope import data_of, refusal_of
from test_session_access import signed_in
from watchers import EXTERNAL, heard, watching

from app.core.access import Scope
from app.core.debate import TurnType
from app.core.errors import Forbidden, SeatTaken
from app.core.seats import Seat
from app.usecases.create import NewDebate, create_debate
from app.usecases.identity import OPEN, identify
from app.usecases.invitations import invite
from app.usecases.seats import release_seat, take_seat
from app.usecases.submit import Submission, submit


@pytest.fixture
def alice(boss):
    return new_agent(boss)


@pytest.fixture
def bob(boss):
    return new_agent(boss)


def a_debate(boss, **changes):
    return data_of(boss.post("/debates", new_debate(format="dialogue", **changes)), 201)["debate"]


def take(caller, debate, role="opponent"):
    return caller.post(f"/debates/{debate['id']}/seats/{role}/take")


def release(caller, debate, role="opponent"):
    return caller.post(f"/debates/{debate['id']}/seats/{role}/release")


def argue(caller, debate):
    """As the opponent, to the motion."""
    path = f"/debates/{debate['id']}"
    motion = data_of(caller.get(path))["motion"]["id"]
    said = {"role": "opponent", "target_id": motion, "content": "No.", "client_request_id": "1"}
    return data_of(caller.post(f"{path}/arguments", said), 201)


def test_the_second_is_refused_and_the_first_may_ask_again(boss, alice, bob):
    debate = a_debate(boss)
    seat = data_of(take(alice, debate))["debate"]["seats"]["opponent"]
    assert (seat["held_by"], seat["held_by_name"]) == (alice.id, alice.username)
    assert take(alice, debate).status_code == 200
    assert refusal_of(take(bob, debate), "SEAT_TAKEN")["role"] == "opponent"
    refusal_of(take(boss, debate), "SEAT_TAKEN")


def test_only_the_holder_speaks_from_a_taken_seat_until_it_is_given_back(boss, alice, bob):
    debate = a_debate(boss)
    data_of(take(alice, debate))
    motion = data_of(boss.get(f"/debates/{debate['id']}"))["motion"]["id"]
    said = {"role": "opponent", "target_id": motion, "content": "No.", "client_request_id": "1"}
    refusal_of(bob.post(f"/debates/{debate['id']}/arguments", said), "FORBIDDEN")
    refusal_of(release(bob, debate), "FORBIDDEN")
    given_back = data_of(release(alice, debate))["debate"]["seats"]["opponent"]
    assert given_back == {"player": "external"}
    assert release(alice, debate).status_code == 200
    data_of(bob.post(f"/debates/{debate['id']}/arguments", said), 201)


def test_callers_without_a_key_cannot_be_told_apart_so_the_second_is_refused(boss):
    debate = a_debate(boss)
    data_of(take(boss, debate))
    refusal_of(take(boss, debate), "SEAT_TAKEN")
    data_of(release(boss, debate))


@pytest.mark.parametrize(("role", "code"), [("proposer", "FORBIDDEN"), ("arbitrator", "FORBIDDEN")])
def test_an_agent_holds_one_seat_of_a_debate(boss, role, code):
    both = new_agent(boss, "read", "debate", "arbitrate")
    debate = a_debate(boss)
    data_of(take(both, debate))
    refusal_of(take(both, debate, role), code)


def test_what_is_not_an_open_seat_is_refused_in_words(boss, alice, bob):
    workers = a_debate(boss, seats={"opponent": {"player": "scripted"}})
    assert "scripted" in refusal_of(take(alice, workers), "ACTION_NOT_ALLOWED")["message"]
    closed = a_debate(boss)
    boss.post(f"/debates/{closed['id']}/stop")
    refusal_of(take(alice, closed), "ACTION_NOT_ALLOWED")
    bound = a_debate(boss, seats={**EXTERNAL, "opponent": {"player": "external", "agent_id": bob.id}})
    refusal_of(take(alice, bound), "SEAT_TAKEN")
    assert take(bob, bound).status_code == 200
    refusal_of(release(bob, bound), "ACTION_NOT_ALLOWED")
    refusal_of(take(alice, closed, "judge"), "INVALID_INPUT")
    refusal_of(take(alice, {"id": "00000000-0000-4000-8000-000000000000"}), "DEBATE_NOT_FOUND")


def test_a_taken_seat_is_no_longer_offered(boss, alice, bob):
    debate = a_debate(boss, title="Offered")

    def offered(caller):
        listed = data_of(caller.get("/debates?pending_first_opponent=true&limit=200"))["debates"]
        return debate["id"] in {one["id"] for one in listed}

    assert offered(bob)
    assert offered(boss)
    data_of(take(alice, debate))
    assert offered(alice)
    assert not offered(bob)
    assert not offered(boss)


def test_the_request_that_made_a_debate_may_be_repeated_after_a_seat_was_taken(boss, alice):
    asked = new_debate(format="dialogue", seats=EXTERNAL)
    made = data_of(boss.post("/debates", asked), 201)["debate"]
    data_of(take(alice, made))
    assert boss.post("/debates", asked).status_code == 200


def test_two_connections_race_for_one_seat(services):
    """Each in its own transaction: one gets it, whoever that is."""
    for number in range(10):
        debate = create_debate(services, OPEN, NewDebate("Race", "general_debate", "Who?", f"race-{number}")).debate
        racers = [an_agent(services, f"racer-{number}-{side}", Scope.READ, Scope.DEBATE) for side in range(2)]

        def race(agent, debate_id=debate.id):
            try:
                return take_seat(services, agent, debate_id, Seat.OPPONENT).seats[Seat.OPPONENT].held_by
            except SeatTaken:
                return None

        outcomes = all_at_once([lambda agent=agent, race=race: race(agent) for agent in racers])
        assert outcomes.count(None) == 1


@pytest.mark.parametrize(
    ("seat", "field"),
    [
        ({"player": "external", "on_timeout": "stop"}, "deadline_seconds"),
        ({"player": "external", "deadline_seconds": 0}, "deadline_seconds"),
        ({"player": "external", "deadline_seconds": 5, "on_timeout": "shrug"}, "on_timeout"),
        ({"player": "external", "deadline_seconds": 5, "on_timeout": {"takeover": "nobody"}}, "takeover"),
        ({"player": "external", "deadline_seconds": 5, "on_timeout": {"takeover": "external"}}, "takeover"),
        ({"player": "scripted", "deadline_seconds": 5}, "deadline_seconds"),
        ({"player": "external", "held_by": "me"}, "held_by"),
    ],
)
def test_a_deadline_that_makes_no_sense_is_refused_at_creation(boss, seat, field):
    answer = boss.post("/debates", new_debate(format="dialogue", seats={"opponent": seat}))
    assert field in refusal_of(answer, "INVALID_INPUT")["message"]


def test_a_judge_cannot_forfeit(boss):
    seat = {"player": "external", "deadline_seconds": 5, "on_timeout": "forfeit"}
    answer = boss.post("/debates", new_debate(format="dialogue", seats={"arbitrator": seat}))
    refusal_of(answer, "INVALID_INPUT")


def test_a_debate_says_until_when_it_waits_and_forgets_it_while_it_is_held(boss):
    patient = a_debate(boss)
    assert patient["waiting_until"] is None
    debate = a_debate(boss, seats={"opponent": {"player": "external", "deadline_seconds": 500}})
    assert debate["seats"]["opponent"]["on_timeout"] == "stop"
    assert debate["waiting_until"] > debate["created_at"]
    path = f"/debates/{debate['id']}"
    assert data_of(boss.post(f"{path}/pause"))["debate"]["waiting_until"] is None
    again = data_of(boss.post(f"{path}/resume"))["debate"]["waiting_until"]
    assert again > debate["waiting_until"]
    assert argue(boss, debate)["debate"]["waiting_until"] is None


def test_whose_turn_it_is_is_told_over_the_websocket(guarded, boss):
    debate = a_debate(boss, seats={"proposer": {"player": "external", "deadline_seconds": 500}})
    with watching(guarded, debate["id"], token=TOKEN) as socket:
        assert heard(socket)[0] == "initial_state"
        argue(boss, debate)
        assert heard(socket)[0] == "new_argument"
        event, told = heard(socket)
        assert event == "seat.waiting"
        assert told["role"] == "proposer"
        assert told["waiting_until"] == told["debate"]["waiting_until"] is not None


def test_who_took_and_gave_back_a_seat_is_in_the_events(guarded, boss, alice):
    debate = a_debate(boss)
    for _ in range(2):
        data_of(take(alice, debate))
    data_of(release(boss, debate))
    link = data_of(boss.post(f"/debates/{debate['id']}/invitations", {"role": "opponent"}), 201)["url"]
    path = link.removeprefix(str(guarded.http.base_url).rstrip("/"))
    assert guarded.http.post(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    events = data_of(boss.get(f"/debates/{debate['id']}/events"))["events"]
    assert [(event["kind"], event["by"], event["about"].get("role")) for event in events[1:]] == [
        ("seat_taken", alice.username, "opponent"),
        ("seat_released", "operator", "opponent"),
        ("seat_taken", "guest", "opponent"),
    ]


def test_the_page_says_who_holds_a_seat_and_until_when_it_must_answer(boss, alice, guarded):
    late = {"player": "external", "deadline_seconds": 600}
    debate = a_debate(boss, seats={**EXTERNAL, "opponent": late})
    cookie = signed_in(guarded)

    def page():
        return guarded.http.get(f"/debates/{debate['id']}/view", headers=cookie).text

    assert page().count("Let an agent take this seat") == 3
    assert "must answer in" in page()
    data_of(take(alice, debate))
    assert f"held by agent {alice.username}" in page()
    assert page().count("Let an agent take this seat") == 2
    boss.post(f"/debates/{debate['id']}/stop")
    assert "must answer in" not in page()
    assert "Let an agent take this seat" not in page()


# One's own cause


@pytest.fixture
def former(boss):
    """An agent with all scopes that argued as the opponent of a debate and then gave its seat back, and the debate."""
    agent = new_agent(boss, "read", "debate", "arbitrate")
    debate = a_debate(boss, seats=EXTERNAL)
    data_of(take(agent, debate))
    argue(agent, debate)
    data_of(release(agent, debate))
    return agent, debate


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ruling", {"content": "I win.", "close": True}),
        ("intervention", {}),
        ("seats/arbitrator/take", None),
        ("stop", {}),
        ("pause", {}),
        ("invitations", {"role": "watcher"}),
    ],
)
def test_who_spoke_as_a_debater_is_no_judge_in_the_debate_after_giving_the_seat_back(former, path, body):
    agent, debate = former
    error = refusal_of(agent.post(f"/debates/{debate['id']}/{path}", body), "FORBIDDEN")
    assert "has spoken as the opponent" in error["message"]
    refusal_of(agent.ask("DELETE", f"/debates/{debate['id']}"), "FORBIDDEN")


def test_who_spoke_as_a_debater_does_not_judge_the_closed_debate_either(boss, former):
    agent, debate = former
    data_of(boss.post(f"/debates/{debate['id']}/stop", {}))
    verdict = {"winner": "opponent", "scores": {"proposer": 1, "opponent": 9}, "reasoning": "I was better."}
    for body in ({"verdict": verdict}, {"player": "scripted"}):
        error = refusal_of(agent.post(f"/debates/{debate['id']}/judgments", body), "FORBIDDEN")
        assert "has spoken as the opponent" in error["message"]


def test_a_guests_move_on_its_way_while_the_operator_gives_its_seat_back_is_refused(services):
    debate = create_debate(services, OPEN, NewDebate("Cars", "general_debate", "Ban cars", "narrowed")).debate
    guest = identify(services, invite(services, OPEN, debate.id, "opponent", None).key)
    take_seat(services, guest, debate.id, Seat.OPPONENT)
    release_seat(services, OPEN, debate.id, Seat.OPPONENT)
    with pytest.raises(Forbidden):
        submit(services, guest, debate.id, Submission(Seat.OPPONENT, TurnType.CLAIM, "Too late."))
    with pytest.raises(Forbidden):
        take_seat(services, guest, debate.id, Seat.OPPONENT)


def test_who_stated_the_motion_and_argued_nothing_may_stop_the_debate(boss):
    creator = new_agent(boss, "read", "debate", "arbitrate")
    debate = a_debate(creator, seats=EXTERNAL)
    data_of(creator.post(f"/debates/{debate['id']}/stop", {}))
