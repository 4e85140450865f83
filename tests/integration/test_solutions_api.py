"""The solutions API, line by line of its contract. There is no worker here: verdicts come when a test says so."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from agents import Caller, new_agent, revoke
from callers import an_agent
from situations import solutions as situations
from sqlalchemy import event
from test_agents_api import NOBODY, refused

from app.core.errors import NotFound
from app.core.solutions import Stance
from app.usecases.solutions import solutions
from app.usecases.solutions.solutions import ContributionRequest

CONTENT = "The buses stop at nine, and nurses leave the hospital at ten."
FIELDS = [
    "id", "solutionId", "agentId", "agent", "parentDebateId", "depth", "stance", "content", "evidenceLinks",
    "guardrailStatus", "guardrailEvaluationId", "upvotes", "createdAt",
]  # fmt: skip


@pytest.fixture(scope="module")
def author(boss):
    return new_agent(boss, display_name="The author")


@pytest.fixture(scope="module")
def other(boss):
    return new_agent(boss)


def data_of(answer, status=200):
    body = answer.json()
    assert answer.status_code == status, body
    assert (body["ok"], body["requestId"]) == (True, answer.headers["X-Request-ID"])
    return body["data"]


def proposed(agent, title="Price the road"):
    return data_of(agent.post("/api/v1/solutions", {"title": title, "description": "By the hour."}), 201)["id"]


@pytest.fixture
def solution(author):
    return proposed(author)


def thread(solution):
    return f"/api/v1/solutions/{solution}/debates"


def send(caller, solution, **changes):
    body = {"stance": "oppose", "content": CONTENT, **changes}
    return caller.post(thread(solution), {name: value for name, value in body.items() if value is not None})


def contribute(caller, solution, **changes):
    return data_of(send(caller, solution, **changes), 201)


def listed(caller, solution, **query):
    body = caller.get(thread(solution), params=query).json()
    assert body["ok"], body
    return body["data"], body["meta"]


def ids(found):
    return [one["id"] for one in found]


# Solutions


def test_a_solution_is_proposed_listed_and_read(author, other):
    body = {"title": "Price the road", "description": "By the hour."}
    made = data_of(author.post("/api/v1/solutions", body), 201)
    assert (made["status"], made["agentDebateCount"], made["agentId"]) == ("proposed", 0, author.id)
    assert made["agent"] == {"id": author.id, "username": author.username, "displayName": "The author"}
    read = data_of(other.get(f"/api/v1/solutions/{made['id']}"))
    assert read == {**made, "evaluation": None, "decisions": None}
    assert data_of(other.get("/api/v1/solutions"))[0] == made


def test_solutions_come_newest_first_page_after_page_also_when_their_times_are_equal(author, module_place):
    made = [
        data_of(author.post("/api/v1/solutions", {"title": str(n), "description": "x"}), 201)["id"] for n in range(7)
    ]
    situations.make_simultaneous(module_place, "solutions")
    seen, cursor = [], None
    while True:
        body = author.get("/api/v1/solutions", params={"limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        seen += ids(body["data"])
        cursor = body["meta"]["nextCursor"]
        if not body["meta"]["hasMore"]:
            break
    assert len(seen) == len(set(seen))
    assert set(made) <= set(seen)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "", "description": "x"}, "title"),
        ({"title": "  ", "description": "x"}, "title"),
        ({"title": "x" * 201, "description": "x"}, "title"),
        ({"title": "x"}, "description"),
        ({"title": "x", "description": "x" * 10_001}, "description"),
        ({"title": "x", "description": "x", "status": "debating"}, "status"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_solution_is_refused(author, body, field):
    assert refused(author.post("/api/v1/solutions", body), 400, "VALIDATION_ERROR")["details"]["field"] == field


def test_who_may_propose_and_contribute(boss, author, solution):
    body = {"title": "x", "description": "x"}
    reader, silent = new_agent(boss, "read"), new_agent(boss, "debate")
    refused(reader.post("/api/v1/solutions", body), 403, "FORBIDDEN")
    refused(send(reader, solution), 403, "FORBIDDEN")
    refused(send(boss, solution), 403, "FORBIDDEN")
    refused(send(Caller(boss.api, None), solution), 401, "UNAUTHORIZED")
    contribute(silent, solution)
    refused(silent.get(thread(solution)), 403, "FORBIDDEN")
    assert reader.get(thread(solution)).status_code == 200
    gone = new_agent(boss)
    revoke(boss, gone)
    refused(send(gone, solution), 401, "UNAUTHORIZED")


# Contributions


def test_a_contribution_is_pending_and_makes_the_solution_debating(author, other, solution):
    links = ["https://example.org/a", "https://example.org/b?c=d#e"]
    made = contribute(other, solution, evidenceLinks=links, stance="modify")
    assert list(made) == FIELDS
    assert (made["solutionId"], made["agentId"], made["parentDebateId"]) == (solution, other.id, None)
    assert (made["stance"], made["content"], made["evidenceLinks"]) == ("modify", CONTENT, links)
    assert (made["guardrailStatus"], made["upvotes"], made["depth"]) == ("pending", 0, 1)
    after = data_of(author.get(f"/api/v1/solutions/{solution}"))
    assert (after["status"], after["agentDebateCount"]) == ("debating", 1)
    contribute(author, solution)
    assert data_of(author.get(f"/api/v1/solutions/{solution}"))["agentDebateCount"] == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"stance": None}, "stance"),
        ({"stance": "agree"}, "stance"),
        ({"content": None}, "content"),
        ({"content": "x" * 49}, "content"),
        ({"content": " " * 60}, "content"),
        ({"content": "x" + " " * 60}, "content"),
        ({"content": "x" * 10_241}, "content"),
        ({"content": "é" * 5_121}, "content"),
        ({"content": "x" * 50 + "\u0000"}, "content"),
        ({"evidenceLinks": ["http://example.org/"]}, "evidenceLinks.0"),
        ({"evidenceLinks": ["https://example.org/", "ftp://example.org/"]}, "evidenceLinks.1"),
        ({"evidenceLinks": ["https://"]}, "evidenceLinks.0"),
        ({"evidenceLinks": ["https://a b.example"]}, "evidenceLinks.0"),
        ({"evidenceLinks": ["https://user:secret@example.org/"]}, "evidenceLinks.0"),
        ({"evidenceLinks": ["https://[::1"]}, "evidenceLinks.0"),
        ({"evidenceLinks": ["javascript:alert(1)"]}, "evidenceLinks.0"),
        ({"evidenceLinks": [f"https://example.org/{n}" for n in range(11)]}, "evidenceLinks"),
        ({"evidenceLinks": "https://example.org/"}, "evidenceLinks"),
        ({"parentDebateId": "nonsense"}, "parentDebateId"),
        ({"guardrailStatus": "approved"}, "guardrailStatus"),
    ],
    ids=[f"case-{n}" for n in range(20)],
)
def test_a_bad_contribution_is_refused_and_counts_nothing(author, solution, changes, field):
    error = refused(send(author, solution, **changes), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field
    assert data_of(author.get(f"/api/v1/solutions/{solution}"))["agentDebateCount"] == 0


def test_the_longest_and_the_shortest_contribution_are_taken(author, solution):
    contribute(author, solution, content="x" * 50)
    contribute(author, solution, content="x" * 10_240)
    contribute(author, solution, evidenceLinks=[f"https://example.org/{n}" for n in range(10)])


def test_depth_five_is_the_deepest(author, solution):
    parent = None
    for depth in range(1, 6):
        made = contribute(author, solution, parentDebateId=parent)
        assert (made["depth"], made["parentDebateId"]) == (depth, parent)
        parent = made["id"]
    error = refused(send(author, solution, parentDebateId=parent), 422, "VALIDATION_ERROR")
    assert "depth" in error["message"]
    assert data_of(author.get(f"/api/v1/solutions/{solution}"))["agentDebateCount"] == 5


def test_a_parent_that_is_unknown_foreign_or_hidden_is_refused_alike(author, other, solution, module_place):
    elsewhere = proposed(author)
    foreign = contribute(author, elsewhere)
    situations.settle(module_place, foreign["id"], "approved")
    hidden = contribute(author, solution)
    headers = {"X-Request-ID": "same"}
    answers = []
    for parent in (str(uuid4()), foreign["id"], hidden["id"]):
        body = {"stance": "question", "content": CONTENT, "parentDebateId": parent}
        answers.append(other.post(thread(solution), body, headers=headers))
        refused(answers[-1], 422, "VALIDATION_ERROR")
    assert len({answer.text for answer in answers}) == 1
    assert "depth" not in answers[0].text


def test_a_solution_that_is_not_there_is_not_found(author):
    refused(author.get(f"/api/v1/solutions/{NOBODY}"), 404, "NOT_FOUND")
    refused(author.get(thread(NOBODY)), 404, "NOT_FOUND")
    refused(send(author, NOBODY), 404, "NOT_FOUND")
    refused(author.get("/api/v1/solutions/nonsense"), 400, "VALIDATION_ERROR")
    refused(author.get("/api/v1/nothing"), 404, "NOT_FOUND")
    refused(author.get("/api/v1"), 404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "PUT", "POST"])
def test_contributions_are_immutable(author, solution, method):
    made = contribute(author, solution)
    answer = author.ask(method, f"{thread(solution)}/{made['id']}")
    refused(answer, 405, "METHOD_NOT_ALLOWED")
    assert "GET" in answer.headers["Allow"]
    refused(author.ask("DELETE", thread(solution)), 405, "METHOD_NOT_ALLOWED")


def test_a_body_far_too_large_and_a_broken_one_have_this_apis_envelope(author, solution):
    headers = {"Content-Type": "application/json"}
    refused(author.ask("POST", thread(solution), content=b"{", headers=headers), 400, "VALIDATION_ERROR")
    too_large = author.post(thread(solution), {"content": "x" * 400_000})
    refused(too_large, 413, "CONTENT_TOO_LARGE")
    # The rest of the body is not read; a client that did not know would send its next request into the closing one.
    assert too_large.headers["connection"] == "close"


# Who sees what


@pytest.mark.parametrize("status", ["pending", "approved", "rejected", "flagged"])
def test_everybody_sees_approved_ones_and_an_author_all_of_its_own(author, other, boss, solution, module_place, status):
    made = contribute(author, solution)
    if status != "pending":
        situations.settle(module_place, made["id"], status)
    assert [(one["id"], one["guardrailStatus"]) for one in listed(author, solution)[0]] == [(made["id"], status)]
    for viewer in (other, boss):
        found, meta = listed(viewer, solution)
        assert ids(found) == ([made["id"]] if status == "approved" else [])
        assert meta == {"hasMore": False, "nextCursor": None, "count": len(found)}


def test_the_author_sees_what_the_guardrail_said_and_others_do_not(author, other, solution, module_place):
    made = contribute(author, solution)
    path = f"{thread(solution)}/{made['id']}"
    evaluation = data_of(author.get(path))["evaluation"]
    assert (evaluation["id"], evaluation["status"], evaluation["verdict"]) == (
        made["guardrailEvaluationId"],
        "pending",
        None,
    )
    situations.settle(module_place, made["id"], "approved")
    assert data_of(author.get(path))["evaluation"]["evaluator"] == "rules/1"
    assert data_of(other.get(path))["evaluation"] is None


def test_a_hidden_contribution_is_answered_like_one_that_is_not_there(author, other, solution):
    hidden = contribute(author, solution)["id"]
    headers = {"X-Request-ID": "same"}
    for method, path in (("GET", "{}"), ("PUT", "{}/upvote"), ("DELETE", "{}/upvote")):
        answers = [
            other.ask(method, f"{thread(solution)}/{path.format(one)}", headers=headers) for one in (hidden, NOBODY)
        ]
        refused(answers[0], 404, "NOT_FOUND")
        assert answers[0].text == answers[1].text


def test_a_hidden_contribution_costs_the_same_questions_as_one_that_is_not_there(services):
    callers = [an_agent(services, name) for name in "ab"]
    solution = solutions.propose(services, callers[0], "x", "x")
    hidden = solutions.contribute(
        services, callers[0], solution.id, ContributionRequest(Stance.OPPOSE, CONTENT, (), None)
    )
    asked: list[str] = []
    event.listen(services.engine.sqlalchemy, "before_cursor_execute", lambda *call: asked.append(call[2]))

    def questions(contribution_id):
        asked.clear()
        with pytest.raises(NotFound) as refusal:
            solutions.get_contribution(services, callers[1], solution.id, contribution_id)
        return list(asked), refusal.value.message

    assert questions(hidden.id) == questions(uuid4())


# Pages


def pages(caller, solution, limit, between=lambda: None, **query):
    found, cursor = [], None
    while True:
        items, meta = listed(caller, solution, limit=limit, **query, **({"cursor": cursor} if cursor else {}))
        assert meta["count"] == len(items) <= limit
        found += items
        cursor = meta["nextCursor"]
        assert meta["hasMore"] is (cursor is not None)
        if cursor is None:
            return found
        between()


def test_pages_are_oldest_first_and_equal_times_neither_skip_nor_repeat(author, solution, module_place):
    made = [contribute(author, solution)["id"] for _ in range(7)]
    situations.make_simultaneous(module_place, "contributions")
    for limit in (1, 2, 3, 7, 100):
        assert ids(pages(author, solution, limit)) == made


def test_pages_while_items_are_added_hold_every_item_once(author, solution):
    made = [contribute(author, solution)["id"] for _ in range(4)]

    def add():
        if len(made) < 8:
            made.append(contribute(author, solution)["id"])

    assert ids(pages(author, solution, 2, between=add)) == made


def test_pages_of_one_stance(author, solution):
    made = [contribute(author, solution, stance=stance) for stance in ("support", "oppose") * 3]
    wanted = [one["id"] for one in made if one["stance"] == "support"]
    assert ids(pages(author, solution, 2, stance="support")) == wanted


def test_roots_and_replies_come_together_with_their_author(author, other, solution, module_place):
    root = contribute(author, solution)
    situations.settle(module_place, root["id"], "approved")
    reply = contribute(other, solution, parentDebateId=root["id"])
    found, _ = listed(other, solution)
    assert [(one["id"], one["parentDebateId"]) for one in found] == [(root["id"], None), (reply["id"], root["id"])]
    assert found[0]["agent"] == {"id": author.id, "username": author.username, "displayName": "The author"}


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "cursor=nonsense", "cursor=WyJ4Il0", "cursor=Wy01XQ", "stance=agree", "x=1"],
)
def test_a_bad_query_is_refused(author, solution, query):
    refused(author.get(f"{thread(solution)}?{query}"), 400, "VALIDATION_ERROR")


# Votes


def test_one_vote_per_agent_however_often_it_is_sent(boss, author, other, solution, module_place):
    made = contribute(author, solution)
    situations.settle(module_place, made["id"], "approved")
    path = f"{thread(solution)}/{made['id']}/upvote"
    third = new_agent(boss)
    for caller, votes in ((other, 1), (other, 1), (third, 2)):
        assert data_of(caller.ask("PUT", path)) == {"id": made["id"], "upvotes": votes, "upvoted": True}
    assert listed(other, solution)[0][0]["upvotes"] == 2
    for votes in (1, 1):
        assert data_of(other.ask("DELETE", path)) == {"id": made["id"], "upvotes": votes, "upvoted": False}
    refused(author.ask("PUT", path), 422, "VALIDATION_ERROR")
    refused(boss.ask("PUT", path), 403, "FORBIDDEN")


def test_votes_at_the_same_moment_are_all_counted_and_each_once(boss, author, solution, module_place):
    made = contribute(author, solution)
    situations.settle(module_place, made["id"], "approved")
    voters = [new_agent(boss) for _ in range(8)] * 3
    path = f"{thread(solution)}/{made['id']}/upvote"
    with ThreadPoolExecutor(12) as pool:
        assert {answer.status_code for answer in pool.map(lambda voter: voter.ask("PUT", path), voters)} == {200}
    assert listed(author, solution)[0][0]["upvotes"] == 8


# At the same moment


def test_a_hundred_contributions_at_once_count_exactly_a_hundred_and_change_the_status_once(
    author, solution, module_place
):
    module_place.sql("CREATE TABLE status_changes (solution_id uuid)")
    module_place.sql(
        "CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO status_changes VALUES (NEW.id); RETURN NEW; END $$"
    )
    module_place.sql(
        "CREATE TRIGGER changes AFTER UPDATE ON solutions FOR EACH ROW WHEN (OLD.status <> NEW.status)"
        " EXECUTE FUNCTION note_change()"
    )
    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(lambda _: contribute(author, solution)["id"], range(100)))
    after = data_of(author.get(f"/api/v1/solutions/{solution}"))
    assert (after["agentDebateCount"], after["status"]) == (100, "debating")
    assert module_place.sql("SELECT count(*) FROM status_changes WHERE solution_id = %s", solution) == [(1,)]
    assert sorted(ids(pages(author, solution, 30))) == sorted(made)
    places = module_place.sql("SELECT position FROM contributions WHERE solution_id = %s ORDER BY 1", solution)
    assert [place for (place,) in places] == list(range(1, 101))
