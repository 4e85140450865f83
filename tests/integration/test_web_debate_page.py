"""What a debate's page says of where it comes from and of what others found of it, and to whom."""

import re
from html import unescape

import httpx
import pytest
from agents import TOKEN, operator
from harness import new_debate
from test_api_envelope import data_of
from watchers import EXTERNAL

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def api(module_place):
    return module_place.start_api(auth_token=TOKEN, rate_limit="off")


@pytest.fixture
def boss(api):
    return operator(api)


@pytest.fixture
def page(api):
    """Of the operator, or of a guest with the link of an invitation."""

    def read(debate_id, url=None):
        with httpx.Client(base_url=api.http.base_url, headers=SAME_ORIGIN, trust_env=False, timeout=60) as browser:
            if url is None:
                assert browser.post("/sign-in", data={"token": TOKEN}).status_code == 303
            else:
                assert browser.post(httpx.URL(url).path).status_code == 303
            answer = browser.get(f"/debates/{debate_id}/view")
        assert answer.status_code == 200
        return re.sub(r"\s+", " ", unescape(re.sub(r"<(?!a )[^>]*>", " ", answer.text)))

    return read


def created(boss, **changes):
    return data_of(boss.post("/debates", new_debate(format="direct", seats=EXTERNAL, **changes)), 201)["debate"]["id"]


def invited(boss, debate_id):
    return data_of(boss.post(f"/debates/{debate_id}/invitations", {"role": "watcher"}), 201)["url"]


def test_a_fork_names_its_source_to_whoever_may_read_it(boss, page):
    source = created(boss, title="Where it <began>")
    body = {"after_seq": 1, "client_request_id": f"fork-{source}"}
    fork = data_of(boss.post(f"/debates/{source}/fork", body), 201)["debate"]["id"]
    assert "Forked from" not in page(source)
    link = rf'<a href="/debates/{source}/view\?turn=1#turn-1"[^>]*>Where it <began> after turn 1'
    assert re.search(f"Forked from {link}", page(fork)), page(fork)
    guests = page(fork, invited(boss, fork))
    assert "Forked from" not in guests
    assert source not in guests
    data_of(boss.ask("DELETE", f"/debates/{source}"))
    assert "Forked from a debate that was deleted after turn 1" in page(fork)


def test_tags_lead_to_the_list_and_to_a_guest_nowhere(boss, page):
    debate_id = created(boss, tags=["pilot & more", "x"])
    assert re.search(r'<a class="kind" href="/\?tag=pilot%20%26%20more"[^>]*>pilot & more', page(debate_id))
    guests = page(debate_id, invited(boss, debate_id))
    assert "pilot & more" in guests
    assert "?tag=" not in guests


def test_judgments_are_on_the_page_of_a_closed_debate_and_not_on_a_guests(boss, page):
    debate_id = created(boss)
    assert "Judgments" not in page(debate_id)
    data_of(boss.post(f"/debates/{debate_id}/ruling", {"content": "So be it"}), 201)
    assert "Judgments" not in page(debate_id)
    opinion = {"winner": "opponent", "scores": {"proposer": 6.01, "opponent": 6.04}, "reasoning": "It was close."}
    given = {"judge": "Ada <b>", "order": "swapped", "verdict": {**opinion, "confidence": 0.75}}
    data_of(boss.post(f"/debates/{debate_id}/judgments", given), 201)
    judge = {"judge": "script", "player": "scripted"}
    data_of(boss.post(f"/debates/{debate_id}/judgments", judge), 201)
    shown = page(debate_id)
    assert "person:Ada <b> Opponent wins 6.04 to 6.01 reads the sides swapped · 75 % sure" in shown
    assert "script Not judged yet reads the sides as spoken" in shown
    guests = page(debate_id, invited(boss, debate_id))
    assert "Judgments" not in guests
    assert "person:Ada" not in guests
