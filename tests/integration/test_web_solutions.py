"""The pages about solutions over plain HTTP: every status is shown, and page after page holds everything once."""

import re
from itertools import chain

import pytest
from callers import an_agent
from claimed_debates import WORKER, ensure_lease
from harness import services_of
from situations.solutions import make_simultaneous, speak_last_at

from app.core.claims import Room
from app.core.guardrail.opinion import Finding, GuardrailVerdict, Opinion, Severity
from app.core.solutions import Stance
from app.usecases.solutions import evaluate, solutions
from app.usecases.solutions.solutions import ContributionRequest

CONTENT = "The buses stop at nine, and nurses leave the hospital at ten."
VERDICTS = (None, GuardrailVerdict.APPROVED, GuardrailVerdict.REJECTED, GuardrailVerdict.FLAGGED)


@pytest.fixture(scope="module")
def services(module_place):
    with services_of(module_place.settings) as built:
        yield built


@pytest.fixture(scope="module")
def agent(services):
    return an_agent(services, "skeptic")


@pytest.fixture(scope="module")
def long_thread(services, agent, module_place):
    """Of 230 contributions with every status in turn. Each replies to the first, and the last of all to the second."""
    solution, said = solutions.propose(services, agent, "Long", "x").id, []
    for number in range(1, 231):
        parent = said[1 if number == 230 else 0].id if said else None
        request = ContributionRequest(Stance.OPPOSE, f"{CONTENT} Said as number {number}", (), parent)
        said.append(solutions.contribute(services, agent, solution, request))
    numbers = {contribution.evaluation_id: number for number, contribution in enumerate(said, 1)}
    ensure_lease(services)
    for held in evaluate.claim(services, WORKER, Room({}, len(said))):
        verdict = VERDICTS[numbers[held.id] % 4]
        if verdict:
            shouts = [Finding("spam", Severity.FLAG, "Shouts")] if verdict is GuardrailVerdict.FLAGGED else []
            evaluate.record(services, held, Opinion(verdict, tuple(shouts)), "rules/1")
    make_simultaneous(module_place, "guardrail_evaluations")
    return str(solution)


def pages_from(api, path):
    """The pages in their order, by the links that they hold."""
    found = []
    while path:
        answer = api.http.get(path)
        assert answer.status_code == 200, answer.text
        found.append(answer.text)
        following = re.search(r'rel="next" href="([^"]+)"', answer.text)
        path = following[1] if following else None
    return found


def places_on(page):
    return [int(place) for place in re.findall(r'<li id="c-(\d+)"', page)]


def test_a_thread_shows_every_contribution_once_and_leads_to_what_is_replied_to(api, long_thread):
    pages = pages_from(api, f"/solutions/{long_thread}")
    assert [len(places_on(page)) for page in pages] == [100, 100, 30]
    assert sorted(chain.from_iterable(map(places_on, pages))) == list(range(1, 231))
    # On one page replies hang below; on another they say where what they reply to stands.
    assert "on another page" not in pages[0]
    link = re.search(r'<li id="c-230">\s*<p class="muted">Replies to <a href="([^"#]+)#c-2">#2</a>', pages[2])
    assert link
    assert places_on(api.http.get(link[1]).text)[0] == 2
    assert f'Replies to <a href="/solutions/{long_thread}#c-1">#1</a>' in pages[1]


def test_the_operator_sees_every_status_and_why(api, long_thread):
    page = api.http.get(f"/solutions/{long_thread}").text
    for words in ("Not checked yet", "Approved", "Rejected", "Flagged"):
        assert page.count(f">{words}</span>") == 25, words
    assert page.count("Shouts") == 25
    assert "by <bdi>skeptic</bdi>" in page
    # Nobody decides before the evaluator has spoken.
    assert page.count("Approve or reject") == 75


def test_the_queue_holds_everything_flagged_once_also_when_the_times_are_equal(api, long_thread, module_place):
    pages = pages_from(api, "/review")
    said = re.findall(r"Said as number (\d+)<", "".join(pages))
    assert sorted(map(int, said)) == list(range(3, 231, 4))
    assert [page.count("<article") for page in pages] == [20, 20, 17]
    assert all("57 wait for a decision" in page for page in pages)
    last = re.search(r'href="(/solutions/[^"#]+)(#c-\d+)" aria-label="Link to contribution', pages[2])
    assert f'id="{last[2][1:]}"' in api.http.get(last[1]).text


def test_solutions_come_page_after_page_with_their_count_and_last_activity(
    api, services, agent, long_thread, module_place
):
    for number in range(1, 121):
        solutions.propose(services, agent, f"Number {number}.", "x")
    make_simultaneous(module_place, "solutions", where="title <> 'Long'")
    speak_last_at(module_place, 230, "2026-02-03T04:05:06Z")
    pages = pages_from(api, "/solutions")
    assert len(pages) == 3
    numbers = re.findall(r">Number (\d+)\.<", "".join(pages))
    assert sorted(map(int, numbers)) == list(range(1, 121))
    row = re.search(r'<tr role="row">\s*<th[^>]*><a href="/solutions/' + long_thread + ".*?</tr>", pages[0], re.DOTALL)
    assert "Debating" in row[0]
    assert ">230<" in row[0]
    assert "2026-02-03T04:05:06.000Z" in row[0]
    assert "First page" in pages[1]
