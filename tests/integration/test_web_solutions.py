"""The pages about solutions over plain HTTP: every status is shown, and page after page holds everything once."""

import re
from itertools import chain

import pytest
from agents import Caller, new_agent

CONTENT = "The buses stop at nine, and nurses leave the hospital at ten."


@pytest.fixture(scope="module")
def agent(api):
    return new_agent(Caller(api, None), username="skeptic")


@pytest.fixture(scope="module")
def long_thread(agent, module_place):
    """Of 230 contributions; each but the first replies to one before it, the last of all to the second."""
    [(solution,)] = module_place.sql(
        "INSERT INTO solutions (id, agent_id, title, description, status, agent_debate_count, guardrail_status)"
        " VALUES (gen_random_uuid(), %s, 'Long', 'x', 'debating', 230, 'approved') RETURNING id",
        agent.id,
    )
    module_place.sql("INSERT INTO guardrail_evaluations (id, solution_id) VALUES (gen_random_uuid(), %s)", solution)
    module_place.sql(
        """INSERT INTO contributions
               (id, solution_id, position, agent_id, parent_id, depth, stance, content, evidence_links,
                guardrail_status)
           SELECT lpad(n::text, 32, '0')::uuid, %s, n, %s,
                  CASE WHEN n > 1 THEN lpad((CASE n WHEN 230 THEN 2 ELSE 1 END)::text, 32, '0')::uuid END,
                  CASE n WHEN 1 THEN 1 WHEN 230 THEN 3 ELSE 2 END, 'oppose', 'Said as number ' || n, '[]',
                  (ARRAY['pending', 'approved', 'rejected', 'flagged'])[n %% 4 + 1]
           FROM generate_series(1, 230) AS n""",
        solution,
        agent.id,
    )
    module_place.sql(
        """INSERT INTO guardrail_evaluations
               (id, contribution_id, verdict, evaluator, evaluated_at, due_at, queued_at, created_at, reasons)
           SELECT gen_random_uuid(), id, verdict, CASE WHEN verdict IS NOT NULL THEN 'rules/1' END,
                  CASE WHEN verdict IS NOT NULL THEN now() END, NULL, NULL, '2026-01-01Z',
                  CASE WHEN verdict = 'flagged' THEN
                    '[{"rule": "spam", "severity": "flag", "message": "Shouts"}]'::jsonb ELSE '[]'::jsonb END
           FROM (SELECT id, NULLIF(guardrail_status, 'pending') AS verdict FROM contributions
                 WHERE solution_id = %s) AS said""",
        solution,
    )
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


def test_solutions_come_page_after_page_with_their_count_and_last_activity(api, agent, long_thread, module_place):
    module_place.sql(
        "INSERT INTO solutions (id, agent_id, title, description, created_at)"
        " SELECT gen_random_uuid(), %s, 'Number ' || n || '.', 'x', '2026-01-01Z' FROM generate_series(1, 120) AS n",
        agent.id,
    )
    module_place.sql(
        "INSERT INTO guardrail_evaluations (id, solution_id) SELECT gen_random_uuid(), id FROM solutions"
        " ON CONFLICT DO NOTHING"
    )
    module_place.sql("UPDATE contributions SET created_at = '2026-02-03T04:05:06Z' WHERE position = 230")
    pages = pages_from(api, "/solutions")
    assert len(pages) == 3
    numbers = re.findall(r">Number (\d+)\.<", "".join(pages))
    assert sorted(map(int, numbers)) == list(range(1, 121))
    row = re.search(r'<tr role="row">\s*<th[^>]*><a href="/solutions/' + long_thread + ".*?</tr>", pages[0], re.DOTALL)
    assert "Debating" in row[0]
    assert ">230<" in row[0]
    assert "2026-02-03T04:05:06.000Z" in row[0]
    assert "First page" in pages[1]
