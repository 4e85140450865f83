"""The form for a ruling on a debate's page, as a browser sends it: the server wants a choice too."""

from urllib.parse import urlsplit

import pytest
from agents import TOKEN
from harness import new_debate
from test_api_envelope import data_of, refusal_of
from watchers import EXTERNAL

OURS = {"Sec-Fetch-Site": "same-origin"}
WINS = {"winner": "opponent", "scores": {"proposer": 4, "opponent": 6}, "reasoning": "It was asked."}


def waiting_for_its_judge(api, **headers):
    body = new_debate(format="direct", seats=EXTERNAL)
    return data_of(api.http.post("/debates", json=body, headers=headers), 201)["debate"]["id"]


def sent(api, debate_id, headers=OURS, **form):
    body = {"content": "So be it", "client_request_id": "form-1", **form}
    return api.http.post(f"/debates/{debate_id}/view/ruling", json=body, headers=headers)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({}, "winner"),
        ({"winner": ""}, "winner"),
        ({"winner": None, "verdict": WINS}, "winner"),
        ({"winner": "none", "verdict": WINS}, "winner"),
        ({"winner": "opponent"}, "winner"),
        ({"winner": "proposer", "verdict": WINS}, "winner"),
        ({"winner": "proposer", "verdict": {**WINS, "winner": "proposer"}}, "verdict"),
        ({"winner": "none", "content": " "}, "content"),
    ],
    ids=str,
)
def test_a_ruling_by_the_form_names_a_winner_a_tie_or_no_verdict(api, form, field):
    debate_id = waiting_for_its_judge(api)
    assert refusal_of(sent(api, debate_id, **form), "INVALID_INPUT")["field"] == field
    assert api.debate(debate_id)["state"] == "AWAITING_ARBITRATOR"


@pytest.mark.parametrize("form", [{"winner": "opponent", "verdict": WINS}, {"winner": "none"}], ids=["side", "none"])
def test_a_choice_is_stored_once_and_ends_a_debate_whose_last_ruling_it_is(api, form):
    debate_id = waiting_for_its_judge(api)
    assert data_of(sent(api, debate_id, **form), 201)["debate"]["status"] == "completed"
    again = sent(api, debate_id, **form)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    verdict = api.debate(debate_id)["verdict"]
    assert (verdict and verdict["winner"]) == (None if form["winner"] == "none" else form["winner"])


def test_the_api_still_takes_a_ruling_without_a_verdict(api):
    debate_id = waiting_for_its_judge(api)
    answer = api.http.post(f"/debates/{debate_id}/ruling", json={"content": "So be it"})
    assert data_of(answer, 201)["debate"]["status"] == "completed"


def test_the_form_answers_our_own_pages_only_and_a_guest_in_the_guests_own_seat(api, module_place):
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    refusal_of(sent(api, waiting_for_its_judge(api), elsewhere, winner="none"), "FORBIDDEN")

    guarded = module_place.start_api(auth_token=TOKEN)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    debate_id = waiting_for_its_judge(guarded, **bearer)
    assert sent(guarded, debate_id, winner="none").headers["Location"].startswith("/sign-in")

    def guest(role, of=debate_id):
        invited = data_of(guarded.http.post(f"/debates/{of}/invitations", json={"role": role}, headers=bearer), 201)
        accepted = guarded.http.post(urlsplit(invited["url"]).path, headers=OURS)
        guarded.http.cookies.clear()
        return {**OURS, "Cookie": accepted.headers["Set-Cookie"].split(";")[0]}

    refusal_of(sent(guarded, debate_id, guest("watcher"), winner="none"), "FORBIDDEN")
    refusal_of(sent(guarded, debate_id, guest("opponent"), winner="none"), "FORBIDDEN")
    data_of(sent(guarded, debate_id, guest("arbitrator"), winner="none"), 201)
