"""Invitations: a link opens one debate and one seat, and nothing else; with and without the operator's token."""

import re
from uuid import uuid4

import httpx
import pytest
from agents import TOKEN, Caller, new_agent
from harness import new_debate
from test_api_envelope import data_of, refusal_of

EXTERNAL = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
MAY = {
    "debates.get", "debates.poll", "debates.export_", "realtime.wait", "realtime.events", "submissions.argue",
    "submissions.appeal", "submissions.resolution", "submissions.ruling", "submissions.question",
    "submissions.intervention", "seats.take", "seats.release",
}  # fmt: skip


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


def browser(api):
    """One that keeps cookies as a browser does, by path, and says where its requests come from."""
    return httpx.Client(base_url=api.http.base_url, headers=SAME_ORIGIN, trust_env=False, timeout=60)


def joined(api, url):
    guest = browser(api)
    answer = guest.post(httpx.URL(url).path)
    assert answer.status_code == 303, answer.text
    return guest, answer


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


def test_every_endpoint_of_the_openapi_document_refuses_a_guest_but_those_of_its_seat(api, boss):
    """A new endpoint refuses guests until somebody lists it, here and in app.http.access."""
    debate_id, _ = a_debate(boss)
    guest, _ = joined(api, invited(boss, debate_id, "watcher"))
    cookie = {c.name: c.value for c in guest.cookies.jar if c.path != "/ws"}
    header = {**SAME_ORIGIN, "Cookie": "; ".join(f"{name}={value}" for name, value in cookie.items())}
    plain = httpx.Client(base_url=api.http.base_url, headers=header, trust_env=False, timeout=60)
    document = plain.get("/openapi.json").json()
    looked_at = 0
    for path, methods in document["paths"].items():
        if not path.startswith("/debates/{debate_id}"):
            # Without the debate's id in the address the cookie is not looked at; a browser does not even send it.
            continue
        own = path.replace("{debate_id}", debate_id).replace("{role}", "opponent")
        address = re.sub(r"\{[a-z_]+\}", str(uuid4()), own)
        for method, described in methods.items():
            if method == "get" and address.endswith("/stream"):
                continue
            answer = plain.request(method.upper(), address, json={} if method != "get" else None)
            looked_at += 1
            is_listed = any(described["operationId"].replace("__", "_").startswith(_id(name)) for name in MAY)
            is_json = answer.headers["Content-Type"] == "application/json"
            code = answer.json().get("error", {}).get("code") if is_json else None
            if not is_listed:
                assert code == "FORBIDDEN", (method, path, answer.text)
            elif method != "get":
                assert code in ("FORBIDDEN", "INVALID_INPUT"), (method, path, answer.text)
    assert looked_at > 12


def _id(name):
    return name.replace(".", "_").rstrip("_")


@pytest.mark.parametrize("what", ["unknown", "expired", "deleted"])
def test_a_link_that_is_not_valid_is_refused_in_words(api, boss, what):
    debate_id, _ = a_debate(boss)
    path = httpx.URL(invited(boss, debate_id, expires_in_seconds=3600)).path
    if what == "unknown":
        path = "/join/nonsense"
    elif what == "expired":
        api.place.sql("UPDATE invitations SET expires_at = now() WHERE debate_id = %s", debate_id)
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
    assert "holds the seat" in late.text


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
