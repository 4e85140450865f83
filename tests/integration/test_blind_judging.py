"""People judge an experiment's debates with an invitation: blind, spread evenly, and with access to nothing else."""

import json
import re
import uuid
from collections import Counter
from functools import partial

import agents
import httpx
import pytest
from agents import new_agent
from experiment_steps import a_spec, completed_over_http
from situations.experiments import expire_judges_invitations
from test_api_envelope import data_of, refusal_of

browser = partial(agents.browser, Accept="text/html")
joined = partial(agents.joined, Accept="text/html")
NAMES = ("Zanzibar-9", "Quetzal-7")


def make_experiment(boss, place, motions, name, answers=None, **spec):
    contestants = [{"name": who, "player": "scripted", "persona": f"a fan of {who}"} for who in NAMES]
    judges = [{"name": "model-judge", "player": "scripted"}]
    listed = [{"id": f"m{n}", "motion": f"Motion {n}.", **(answers or {})} for n in range(motions)]
    given = {"motions": listed, "contestants": contestants, "judges": judges, "name": name, **spec}
    return completed_over_http(boss.ask, place, **given)


@pytest.fixture(scope="module")
def held(boss, module_place):
    """Eight debates."""
    return make_experiment(boss, module_place, 4, f"{NAMES[0]} against {NAMES[1]}")


def invited(boss, held, name, **body):
    return data_of(boss.post(f"{held}/invitations", {"name": name, **body}), 201)


def ticket_of(page):
    return re.search(r'name="ticket" value="([0-9a-f]{64})"', page.text)[1]


def judge_one(guest, held, winner="1", **more):
    page = guest.get(f"{held}/judge")
    given = {"ticket": ticket_of(page), "winner": winner, **more}
    answer = guest.post(f"{held}/judge", data=given)
    assert answer.status_code == 303, answer.text
    return page, given, answer


def judgments(boss, held):
    lines = boss.get(f"{held}/export?what=judgments&format=jsonl").text.splitlines()
    return [json.loads(line) for line in lines]


def test_the_link_says_who_invites_to_what_and_opens_the_judging_alone(guarded, boss, held):
    made = invited(boss, held, "Ana")
    assert made["judge"] == "person:Ana"
    page = browser(guarded).get(httpx.URL(made["url"]).path)
    assert page.status_code == 200
    assert "Ana" in page.text
    assert not any(name in page.text for name in NAMES)
    guest, answer = joined(guarded, made["url"])
    [cookie] = answer.headers.get_list("set-cookie")
    assert f"Path={held}/judge" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert guest.get(f"{held}/judge").status_code == 200
    # Whatever the path, and though the cookie is sent along by hand.
    secret = {"Cookie": cookie.partition(";")[0]}
    debate = data_of(boss.get(f"{held}/matches"))["matches"][0]["debate_id"]
    pages = ("/", "/experiments", held, f"{held}/debates", f"{held}/compare", f"/debates/{debate}/view")
    for path in pages:
        assert guest.get(path, headers=secret).headers["Location"].startswith("/sign-in"), path
    for path in (held, f"{held}/results", f"{held}/matches", f"/debates/{debate}", f"/debates/{debate}/judgments"):
        refusal_of(guest.get(path, headers={**secret, "Accept": "*/*"}), "AUTH_FAILED")
    given = {"judge": "Ana", "verdict": {"winner": "tie"}}
    refusal_of(guest.post(f"/debates/{debate}/judgments", json=given, headers=secret), "AUTH_FAILED")


def test_nothing_on_the_page_tells_who_argued(guarded, boss, held):
    guest, _ = joined(guarded, invited(boss, held, "Blind")["url"])
    debates = {match["debate_id"] for match in data_of(boss.get(f"{held}/matches"))["matches"]}
    for _ in range(8):
        page, _, answer = judge_one(guest, held)
        told = page.text + str(page.headers) + str(answer.headers)
        lowered = told.lower()
        for hidden in (*NAMES, "scripted", "model-judge", "persona", 'proposer"', "ruling"):
            assert hidden.lower() not in lowered, hidden
        assert not any(debate in told or debate.replace("-", "") in told for debate in debates)
    assert "You have judged 8 debates" in guest.get(f"{held}/judge").text


def test_judgments_are_spread_evenly_and_stand_beside_the_models(guarded, boss, module_place):
    held = make_experiment(boss, module_place, 3, f"spread-{uuid.uuid4()}")
    ana, bob = (joined(guarded, invited(boss, held, name)["url"])[0] for name in ("ana", "bob"))
    for judge in (ana, bob) * 3:
        judge_one(judge, held, winner="2", confidence="0.75")
    people = [row for row in judgments(boss, held) if row["judge"].startswith("person:")]
    assert set(Counter(row["debate_id"] for row in people).values()) == {1}, "six judgments of six debates"
    assert {row["confidence"] for row in people} == {0.75}
    assert {row["player"] for row in people} == {"external"}
    for judge in (ana, bob) * 3:
        judge_one(judge, held, winner="0")
    people = [row for row in judgments(boss, held) if row["judge"].startswith("person:")]
    assert set(Counter(row["debate_id"] for row in people).values()) == {2}
    found = data_of(boss.get(f"{held}/results"))["results"]
    assert {one["judge"] for one in found["judges"]} == {"model-judge", "person:ana", "person:bob"}
    assert ["model-judge", "person:ana"] in [pair["judges"] for pair in found["agreement"]["pairs"]]


def test_where_there_are_answers_the_page_asks_which_one_is_correct(guarded, boss, module_place):
    answers = {"answer_a": "Green owns it.", "answer_b": "Blue owns it.", "correct": "a"}
    held = make_experiment(boss, module_place, 4, f"questions-{uuid.uuid4()}", answers, format="consultancy")
    guest, _ = joined(guarded, invited(boss, held, "Asked")["url"])
    for _ in range(16):
        page = guest.get(f"{held}/judge")
        assert "Which answer is correct?" in page.text
        assert not re.search("argued better|motion</h2>", page.text, re.IGNORECASE)
        shown = re.findall(r"Side (\d) defends</dt><dd[^>]*>([^<]*)<", page.text)
        [right] = [side for side, answer in shown if answer == "Green owns it."]
        [alone] = re.findall(r"Only side (\d) argued", page.text)
        assert f'class="speech side-{alone}"' in page.text
        given = {"ticket": ticket_of(page), "winner": right, "confidence": "0.95"}
        assert guest.post(f"{held}/judge", data=given).status_code == 303
    asked = [row for row in judgments(boss, held) if row["judge"] == "person:Asked"]
    assert Counter(row["winner"] == row["correct"] for row in asked) == {True: 16}
    # Also where one argues alone, the answers come in both orders.
    assert {row["order"] for row in asked} == {"as_spoken", "swapped"}
    [person] = [
        one for one in data_of(boss.get(f"{held}/results"))["results"]["judges"] if one["judge"] == "person:Asked"
    ]
    assert person["accuracy"]["value"] == 1.0


def test_the_side_that_was_shown_is_the_side_that_wins(guarded, boss, module_place, held):
    guest, _ = joined(guarded, invited(boss, held, "Sides")["url"])
    seen = {}
    for _ in range(8):
        page, _, _ = judge_one(guest, held, winner="1")
        first = re.search(r'class="speech side-1">.*?<div class="text[^>]*>(.*?)</div>', page.text, re.DOTALL)[1]
        seen[re.sub(r"<[^>]+>|\s+", " ", first).strip()[:40]] = True
    orders = Counter()
    for row in judgments(boss, held):
        if row["judge"] == "person:Sides":
            expected = "opponent" if row["order"] == "swapped" else "proposer"
            assert row["winner"] == expected
            actor = "debater_b" if row["order"] == "swapped" else "debater_a"
            said = "SELECT content FROM turns WHERE debate_id = %s AND actor = %s AND type = 'CLAIM' AND round = 1"
            [(content,)] = module_place.sql(said, row["debate_id"], actor)
            shown = re.sub(r"\s+", " ", content).replace("“", "“")[:15]
            assert any(start.startswith(shown[:10].replace("'", "&#39;")) for start in seen), shown
            orders[row["order"]] += 1
    assert sum(orders.values()) == 8


def test_a_judgment_counts_once_and_what_is_malformed_is_refused(guarded, boss, held):
    guest, _ = joined(guarded, invited(boss, held, "Twice")["url"])
    _, given, _ = judge_one(guest, held, winner="1")
    again = guest.post(f"{held}/judge", data={**given, "winner": "2"})
    assert again.headers["Location"].endswith("again=1")
    assert "Your first judgment counts" in guest.get(again.headers["Location"]).text
    assert sum(row["judge"] == "person:Twice" for row in judgments(boss, held)) == 1
    ticket = ticket_of(guest.get(f"{held}/judge"))
    for wrong, status in (
        ({"winner": "3"}, 400),
        ({"winner": ""}, 400),
        ({"winner": "1", "confidence": "7"}, 400),
        ({"winner": "1", "ticket": "0" * 64}, 404),
        ({"winner": "1", "ticket": "\x00'"}, 404),
    ):
        assert guest.post(f"{held}/judge", data={"ticket": ticket, **wrong}).status_code == status, wrong
    cross = guest.post(
        f"{held}/judge", data={"ticket": ticket, "winner": "1"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert cross.status_code == 403
    # Another judge's ticket of the same debate is no ticket here.
    other, _ = joined(guarded, invited(boss, held, "Other")["url"])
    assert other.post(f"{held}/judge", data={"ticket": ticket, "winner": "1"}).status_code == 404


@pytest.mark.parametrize("what", ["unknown", "expired", "deleted"])
def test_a_link_that_is_not_valid_is_refused_in_words(guarded, boss, module_place, what):
    made = data_of(boss.post("/experiments", a_spec(name=f"links-{uuid.uuid4()}")), 201)["experiment"]
    at = f"/experiments/{made['id']}"
    path = httpx.URL(invited(boss, at, "Ana")["url"]).path
    if what == "unknown":
        path = "/join/nonsense"
    elif what == "expired":
        expire_judges_invitations(module_place, made["id"])
    else:
        guest, _ = joined(guarded, f"http://x{path}")
        assert "There is nothing to judge yet" in guest.get(f"{at}/judge").text
        data_of(boss.ask("DELETE", at))
        assert guest.get(f"{at}/judge").headers["Location"].startswith("/sign-in")
    for answer in (browser(guarded).get(path), browser(guarded).post(path)):
        assert answer.status_code == 404
        assert ("expired" if what == "expired" else "not valid") in answer.text


def test_who_may_invite_and_what_is_refused(boss, held):
    path = f"{held}/invitations"
    refusal_of(new_agent(boss).post(path, {"name": "x"}), "FORBIDDEN")
    for name in ("", "a\x00b", "a\nb", " ", "x" * 101):
        refusal_of(boss.post(path, {"name": name}), "INVALID_INPUT")
    refusal_of(boss.post(path, {"name": "x", "expires_in_seconds": 0}), "INVALID_INPUT")
    refusal_of(boss.post(f"/experiments/{uuid.uuid4()}/invitations", {"name": "x"}), "NOT_FOUND")


def test_a_revoked_invitation_to_judge_opens_nothing(guarded, boss, held):
    path = f"{held}/invitations"
    made, kept = invited(boss, held, "Gone"), invited(boss, held, "Kept")
    guest, _ = joined(guarded, made["url"])
    shown = {one["id"]: (one["judge"], one["invited_by"]) for one in data_of(boss.get(path))["invitations"]}
    assert shown[made["id"]] == ("person:Gone", "operator")
    assert data_of(boss.ask("DELETE", f"{path}/{made['id']}")) == {"deleted": True}
    assert browser(guarded).get(httpx.URL(made["url"]).path).status_code == 404
    assert guest.get(f"{held}/judge").headers["Location"].startswith("/sign-in")
    left = {one["id"] for one in data_of(boss.get(path))["invitations"]}
    assert left & {made["id"], kept["id"]} == {kept["id"]}
    refusal_of(boss.ask("DELETE", f"{path}/{uuid.uuid4()}"), "NOT_FOUND")


def test_an_invitation_to_judge_needs_the_scopes_of_a_judge_and_ends_with_its_issuers_key(guarded, boss):
    issuer, referee = new_agent(boss, "read", "debate", "arbitrate"), new_agent(boss, "read", "arbitrate")
    own = data_of(issuer.post("/experiments", a_spec(name=f"own-{uuid.uuid4()}")), 201)["experiment"]["id"]
    at = f"/experiments/{own}"
    assert refusal_of(referee.post(f"{at}/invitations", {"name": "x"}), "FORBIDDEN")["required_scope"] == "debate"
    made = invited(issuer, at, "Ana")
    guest, _ = joined(guarded, made["url"])
    assert guest.get(f"{at}/judge").status_code == 200
    assert boss.post(f"/api/v1/agents/{issuer.id}/rotate").status_code == 200
    assert guest.get(f"{at}/judge").headers["Location"].startswith("/sign-in")
    assert browser(guarded).post(httpx.URL(made["url"]).path).status_code == 404
    assert data_of(boss.get(f"{at}/invitations"))["invitations"] == []


def test_the_cookie_under_another_experiments_name_opens_nothing(guarded, boss, held):
    other = data_of(boss.post("/experiments", a_spec(name=f"other-{uuid.uuid4()}")), 201)["experiment"]["id"]
    _, answer = joined(guarded, invited(boss, held, "Forger")["url"])
    secret = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    forged = {"Cookie": f"debate_judge_{uuid.UUID(other).hex}={secret}"}
    assert (
        browser(guarded).get(f"/experiments/{other}/judge", headers=forged).headers["Location"].startswith("/sign-in")
    )
