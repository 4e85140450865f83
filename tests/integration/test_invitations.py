"""Invitations: a link opens one debate and one seat, and nothing else; with and without the operator's token."""

import re
from uuid import uuid4

import httpx
import pytest
from agents import TOKEN, Caller, browser, joined, new_agent
from harness import new_debate
from situations import invitations
from test_api_envelope import data_of, refusal_of
from watchers import EXTERNAL

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module", params=[TOKEN, None], ids=["with a token", "without a token"])
def api(request, make_place):
    place = make_place()
    started = place.start_api(auth_token=request.param, rate_limit="off")
    started.place = place
    started.token = request.param
    yield started
    place.end_programs()


@pytest.fixture
def boss(api):
    return Caller(api, api.token)


def a_debate(boss, **changes):
    data = data_of(boss.post("/debates", new_debate(format="dialogue", seats=EXTERNAL, **changes)), 201)
    return data["debate"]["id"], data["argument"]["id"]


def invited(boss, debate_id, role="opponent", **body):
    return data_of(boss.post(f"/debates/{debate_id}/invitations", {"role": role, **body}), 201)["url"]


def claim(motion, role="opponent"):
    return {"role": role, "target_id": motion, "content": "Words.", "client_request_id": str(uuid4())}


def test_the_page_says_who_invites_to_what_and_takes_nothing_yet(api, boss):
    debate_id, _ = a_debate(boss, title="Tabs <or> spaces")
    page = browser(api).get(httpx.URL(invited(boss, debate_id)).path)
    assert page.status_code == 200
    assert "Tabs &lt;or&gt; spaces" in page.text
    assert "operator" in page.text
    assert "seat of the opponent" in page.text
    assert "held_by" not in data_of(boss.get(f"/debates/{debate_id}"))["debate"]["seats"]["opponent"]


def test_accepting_takes_the_seat_and_sets_a_cookie_for_this_debate_alone(api, boss):
    debate_id, motion = a_debate(boss)
    guest, answer = joined(api, invited(boss, debate_id))
    cookies = answer.headers.get_list("set-cookie")
    assert {re.search(r"Path=([^;]+)", cookie)[1] for cookie in cookies} == {f"/debates/{debate_id}", "/ws"}
    assert all("HttpOnly" in cookie and "SameSite=" in cookie for cookie in cookies)
    seat = data_of(boss.get(f"/debates/{debate_id}"))["debate"]["seats"]["opponent"]
    assert seat["held_by"].startswith("guest:")
    page = guest.get(f"/debates/{debate_id}/view")
    assert page.status_code == 200
    offered = re.search(r'data-controls="([^"]*)"', page.text)[1].split()
    assert offered == ["argue"]
    assert 'href="/system"' not in page.text
    assert 'data-control="delete"' not in page.text
    data_of(guest.post(f"/debates/{debate_id}/arguments", json=claim(motion)), 201)


def test_a_token_is_stored_as_a_hash_only(api, boss):
    debate_id, _ = a_debate(boss)
    token = invited(boss, debate_id).rpartition("/")[2]
    [(stored,)] = api.place.sql("SELECT token_hash FROM invitations WHERE debate_id = %s", debate_id)
    assert len(stored) == 32
    assert token.encode() not in stored


def test_a_guest_speaks_from_no_other_seat_and_in_no_other_debate(api, boss):
    debate_id, motion = a_debate(boss)
    other_id, other_motion = a_debate(boss)
    guest, _ = joined(api, invited(boss, debate_id))
    refusal_of(guest.post(f"/debates/{debate_id}/arguments", json=claim(motion, "proposer")), "FORBIDDEN")
    refusal_of(guest.post(f"/debates/{debate_id}/ruling", json={"content": "Mine."}), "FORBIDDEN")
    refusal_of(guest.post(f"/debates/{debate_id}/seats/proposer/take"), "FORBIDDEN")
    # The cookie under another debate's name opens nothing: it is not that debate's.
    [secret] = {c.value for c in guest.cookies.jar if c.path != "/ws"}
    forged = httpx.Client(
        base_url=api.http.base_url,
        headers={**SAME_ORIGIN, "Cookie": f"debate_guest_{other_id.replace('-', '')}={secret}"},
        trust_env=False,
    )
    if api.token:
        refusal_of(forged.get(f"/debates/{other_id}"), "AUTH_FAILED")
        refusal_of(forged.post(f"/debates/{other_id}/arguments", json=claim(other_motion)), "AUTH_FAILED")


def test_the_judges_seat_and_a_watchers_place(api, boss):
    debate_id, motion = a_debate(boss)
    judge, _ = joined(api, invited(boss, debate_id, "arbitrator"))
    data_of(judge.post(f"/debates/{debate_id}/intervention", json={}), 201)
    refusal_of(judge.post(f"/debates/{debate_id}/arguments", json=claim(motion)), "FORBIDDEN")
    refusal_of(judge.post(f"/debates/{debate_id}/stop", json={}), "FORBIDDEN")
    watcher, _ = joined(api, invited(boss, debate_id, "watcher"))
    assert data_of(watcher.get(f"/debates/{debate_id}"))["debate"]["id"] == debate_id
    for path, body in (("arguments", claim(motion)), ("ruling", {"content": "No."}), ("intervention", {})):
        refusal_of(watcher.post(f"/debates/{debate_id}/{path}", json=body), "FORBIDDEN")
    assert re.search(r'data-controls="([^"]*)"', watcher.get(f"/debates/{debate_id}/view").text)[1] == ""


@pytest.mark.parametrize("what", ["unknown", "expired", "deleted"])
def test_a_link_that_is_not_valid_is_refused_in_words(api, boss, what):
    debate_id, _ = a_debate(boss)
    path = httpx.URL(invited(boss, debate_id, expires_in_seconds=3600)).path
    if what == "unknown":
        path = "/join/nonsense"
    elif what == "expired":
        invitations.expire(api.place, debate_id)
    else:
        guest, _ = joined(api, f"http://x{path}")
        data_of(boss.ask("DELETE", f"/debates/{debate_id}"))
        if api.token:
            refusal_of(guest.get(f"/debates/{debate_id}"), "AUTH_FAILED")
    for answer in (browser(api).get(path), browser(api).post(path)):
        assert answer.status_code == 404
        assert ("expired" if what == "expired" else "not valid") in answer.text
        assert "set-cookie" not in answer.headers


def test_a_link_to_a_seat_that_somebody_holds_is_refused_and_another_site_cannot_accept(api, boss):
    debate_id, _ = a_debate(boss)
    first, second = invited(boss, debate_id), invited(boss, debate_id)
    foreign = browser(api)
    assert foreign.post(httpx.URL(first).path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    joined(api, first)
    joined(api, first)
    late = browser(api).post(httpx.URL(second).path)
    assert late.status_code == 409
    assert "The seat of the opponent is taken" in late.text


def test_what_cannot_be_offered_is_refused(api, boss):
    debate_id, _ = a_debate(boss)
    path = f"/debates/{debate_id}/invitations"
    refusal_of(boss.post(path, {"role": "king"}), "INVALID_INPUT")
    refusal_of(boss.post(path, {"role": "opponent", "expires_in_seconds": 0}), "INVALID_INPUT")
    refusal_of(new_agent(boss).post(path, {"role": "opponent"}), "FORBIDDEN")
    workers = data_of(boss.post("/debates", new_debate()), 201)["debate"]["id"]
    refusal_of(boss.post(f"/debates/{workers}/invitations", {"role": "opponent"}), "ACTION_NOT_ALLOWED")
    invited(boss, workers, "arbitrator")
    boss.post(f"/debates/{debate_id}/stop")
    refusal_of(boss.post(path, {"role": "opponent"}), "ACTION_NOT_ALLOWED")
    invited(boss, debate_id, "watcher")


def test_a_guests_page_has_the_document_only_in_a_seat_that_is_shown_it(api, boss):
    material = {"document": "The secret ledger of 1931.", "visible_to": ["opponent"]}
    debate_id, _ = a_debate(boss, material=material)
    pages = {}
    for role in ("opponent", "proposer", "arbitrator", "watcher"):
        guest, _ = joined(api, invited(boss, debate_id, role))
        pages[role] = guest.get(f"/debates/{debate_id}/view").text
    assert "secret ledger" in pages.pop("opponent")
    for role, page in pages.items():
        assert "secret ledger" not in page, role
        assert "A document of 26 bytes, shown to the opponent." in page, role


# Listed, revoked, ended with the issuer's key, and never more than the issuer may


def issued_by(caller, debate_id, role="opponent"):
    return data_of(caller.post(f"/debates/{debate_id}/invitations", {"role": role}), 201)


def listed(caller, debate_id):
    return data_of(caller.get(f"/debates/{debate_id}/invitations"))["invitations"]


def judge_and_debater(boss):
    return new_agent(boss, "read", "debate", "arbitrate")


def ended(api, boss, debate_id, motion, made, guest):
    """Neither the link nor the key nor the session of this invitation opens anything."""
    assert browser(api).get(httpx.URL(made["url"]).path).status_code == 404
    program = Caller(api, made["key"])
    for answer in (
        program.get(f"/debates/{debate_id}"),
        program.post(f"/debates/{debate_id}/arguments", claim(motion)),
    ):
        refusal_of(answer, "AUTH_FAILED")
    if api.token:
        refusal_of(guest.get(f"/debates/{debate_id}"), "AUTH_FAILED")
        refusal_of(guest.post(f"/debates/{debate_id}/arguments", json=claim(motion)), "AUTH_FAILED")
    return True


def test_a_revoked_invitation_opens_nothing_and_its_seat_is_open_again(api, boss):
    debate_id, motion = a_debate(boss)
    made, other = issued_by(boss, debate_id), issued_by(boss, debate_id, "watcher")
    guest, _ = joined(api, made["url"])
    assert [(one["id"], one["role"], one["invited_by"]) for one in listed(boss, debate_id)] == [
        (other["id"], "watcher", "operator"),
        (made["id"], "opponent", "operator"),
    ]
    assert "url" not in str(listed(boss, debate_id))
    for _ in range(2):
        assert data_of(boss.ask("DELETE", f"/debates/{debate_id}/invitations/{made['id']}")) == {"deleted": True}
    assert ended(api, boss, debate_id, motion, made, guest)
    assert [one["id"] for one in listed(boss, debate_id)] == [other["id"]]
    debate = data_of(boss.get(f"/debates/{debate_id}"))["debate"]
    assert "held_by" not in debate["seats"]["opponent"]
    joined(api, invited(boss, debate_id))
    elsewhere, _ = a_debate(boss)
    refusal_of(boss.ask("DELETE", f"/debates/{elsewhere}/invitations/{other['id']}"), "NOT_FOUND")


def test_an_expired_link_is_listed_while_a_browser_that_accepted_it_has_its_session(api, boss):
    debate_id, _ = a_debate(boss)
    unused, used = issued_by(boss, debate_id, "watcher"), issued_by(boss, debate_id)
    joined(api, used["url"])
    invitations.expire(api.place, debate_id)
    assert [one["id"] for one in listed(boss, debate_id)] == [used["id"]] != [unused["id"]]


def test_an_agent_lists_and_revokes_its_own_invitations_only(api, boss):
    issuer, other = judge_and_debater(boss), judge_and_debater(boss)
    debate_id, _ = a_debate(boss)
    made, operators = issued_by(issuer, debate_id), issued_by(boss, debate_id, "watcher")
    assert [one["id"] for one in listed(issuer, debate_id)] == [made["id"]]
    assert listed(other, debate_id) == []
    assert len(listed(boss, debate_id)) == 2
    for caller, invitation in ((other, made), (issuer, operators)):
        refusal_of(caller.ask("DELETE", f"/debates/{debate_id}/invitations/{invitation['id']}"), "FORBIDDEN")
    data_of(issuer.ask("DELETE", f"/debates/{debate_id}/invitations/{made['id']}"))
    refusal_of(new_agent(boss).get(f"/debates/{debate_id}/invitations"), "FORBIDDEN")


@pytest.mark.parametrize("what", ["revoke", "rotate"])
def test_an_invitation_ends_with_the_key_of_its_issuer(api, boss, what):
    issuer = judge_and_debater(boss)
    debate_id, motion = a_debate(boss)
    made = issued_by(issuer, debate_id)
    guest, _ = joined(api, made["url"])
    data_of(guest.get(f"/debates/{debate_id}"))
    assert boss.post(f"/api/v1/agents/{issuer.id}/{what}").status_code == 200
    assert ended(api, boss, debate_id, motion, made, guest)
    assert listed(boss, debate_id) == []


def test_an_invitation_grants_no_scope_that_its_issuer_lacks(api, boss):
    debate_id, _ = a_debate(boss)
    path = f"/debates/{debate_id}/invitations"
    referee, blind = new_agent(boss, "read", "arbitrate"), new_agent(boss, "arbitrate", "debate")
    for role in ("proposer", "opponent"):
        assert refusal_of(referee.post(path, {"role": role}), "FORBIDDEN")["required_scope"] == "debate"
    for role in ("arbitrator", "watcher"):
        data_of(referee.post(path, {"role": role}), 201)
        assert refusal_of(blind.post(path, {"role": role}), "FORBIDDEN")["required_scope"] == "read"


def test_an_invitation_grants_no_seat_that_its_issuer_may_not_act_from(api, boss):
    issuer, other = judge_and_debater(boss), new_agent(boss)
    seats = {**EXTERNAL, "opponent": {"player": "external", "agent_id": other.id}}
    bound = data_of(boss.post("/debates", new_debate(format="dialogue", seats=seats)), 201)["debate"]["id"]
    refusal_of(issuer.post(f"/debates/{bound}/invitations", {"role": "opponent"}), "FORBIDDEN")
    seats = {**EXTERNAL, "arbitrator": {"player": "external", "agent_id": issuer.id}}
    judged = data_of(boss.post("/debates", new_debate(format="dialogue", seats=seats)), 201)["debate"]["id"]
    refusal_of(issuer.post(f"/debates/{judged}/invitations", {"role": "opponent"}), "FORBIDDEN")


def test_an_agent_does_not_act_from_two_seats_by_inviting_itself_to_the_second(api, boss):
    issuer = judge_and_debater(boss)
    debate_id, motion = a_debate(boss)
    guest = Caller(api, issued_by(issuer, debate_id)["key"])
    data_of(issuer.post(f"/debates/{debate_id}/seats/proposer/take"))
    for answer in (
        guest.post(f"/debates/{debate_id}/seats/opponent/take"),
        guest.post(f"/debates/{debate_id}/arguments", claim(motion)),
    ):
        assert "issued this invitation" in refusal_of(answer, "FORBIDDEN")["message"]


def test_a_guest_whose_seat_the_operator_gave_back_watches_and_no_longer_speaks(api, boss):
    debate_id, motion = a_debate(boss)
    made = issued_by(boss, debate_id)
    guest, _ = joined(api, made["url"])
    data_of(boss.post(f"/debates/{debate_id}/seats/opponent/release"))
    program = Caller(api, made["key"])
    for answer in (
        guest.post(f"/debates/{debate_id}/arguments", json=claim(motion)),
        guest.post(f"/debates/{debate_id}/seats/opponent/take"),
        program.post(f"/debates/{debate_id}/arguments", claim(motion)),
        program.post(f"/debates/{debate_id}/seats/opponent/take"),
    ):
        refusal_of(answer, "FORBIDDEN")
    data_of(guest.get(f"/debates/{debate_id}"))
    assert [one["role"] for one in listed(boss, debate_id)] == ["watcher"]


def test_a_guest_who_gave_the_seat_back_may_take_it_again(api, boss):
    debate_id, motion = a_debate(boss)
    program = Caller(api, issued_by(boss, debate_id)["key"])
    for what in ("take", "release", "take"):
        data_of(program.post(f"/debates/{debate_id}/seats/opponent/{what}"))
    data_of(program.post(f"/debates/{debate_id}/arguments", claim(motion)), 201)
