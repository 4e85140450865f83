"""The dashboard's pages over plain HTTP: what browsers are told, who gets in, and that other sites stay out."""

import re
from datetime import datetime, timedelta
from html import escape

import pytest
from agents import TOKEN, Caller, new_agent
from harness import Api, new_debate, wait_until
from situations import debates, leases, webhooks
from test_api_envelope import data_of, refusal_of
from test_session_access import signed_in

from app.web.forms import FIRST_MODELS
from app.words.errors import NO_WORKER, QUEUE_IS_DOWN

NO_SUCH_DEBATE = "00000000-0000-0000-0000-000000000000"
PAGES = (
    "/",
    "/new",
    "/system",
    "/solutions",
    "/review",
    "/webhooks/view",
    f"/webhooks/{NO_SUCH_DEBATE}/view",
    f"/debates/{NO_SUCH_DEBATE}/view",
    f"/new?from={NO_SUCH_DEBATE}",
    f"/solutions/{NO_SUCH_DEBATE}",
)
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def guarded(module_place) -> Api:
    return module_place.start_api(auth_token=TOKEN)


@pytest.mark.parametrize("path", [*PAGES, "/?status=nonsense"])
def test_every_page_is_strict_about_what_may_run_in_it(api, path):
    answer = api.http.get(path)
    assert "text/html" in answer.headers["Content-Type"]
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "<script>" not in answer.text
    assert "style=" not in answer.text
    assert "http://" not in answer.text.replace(str(api.http.base_url), "")
    assert "https://" not in answer.text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/?status=nonsense", 400, "is none of created"),
        ("/?state=nonsense", 400, "is none of AWAITING_PROPOSER"),
        ("/?format=nonsense", 400, "there is no format"),
        ("/?sort=nonsense", 400, "sort: must be one of latest"),
        ("/?cursor=nonsense", 400, "cursor: is not a page cursor"),
        ("/?q=" + "x" * 201, 400, "at most 200 characters"),
        ("/?q=a%00b", 400, "q: String should match"),
        (f"/debates/{NO_SUCH_DEBATE}/view", 404, "Not found"),
        ("/debates/not-a-uuid/view", 400, "is not the id of a debate"),
        (f"/debates/{NO_SUCH_DEBATE}/view?from=x", 400, "must be the number of a turn"),
        (f"/debates/{NO_SUCH_DEBATE}/view?turn=99999999999", 400, "must be the number of a turn"),
        (f"/new?from={NO_SUCH_DEBATE}", 404, "Not found"),
        ("/new?from=x", 400, "is not the id of a debate"),
        ("/solutions?cursor=nonsense", 400, "cursor: is not a page cursor"),
        ("/review?cursor=nonsense", 400, "cursor: is not a page cursor"),
        (f"/solutions/{NO_SUCH_DEBATE}", 404, "There is no such solution"),
        (f"/solutions/{NO_SUCH_DEBATE}?cursor=nonsense", 400, "cursor: is not a page cursor"),
        ("/solutions/not-a-uuid", 400, "is not the id of a solution"),
        (f"/webhooks/{NO_SUCH_DEBATE}/view", 404, "There is no webhook"),
        ("/webhooks/not-a-uuid/view", 400, "is not the id of a webhook"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_address_that_means_nothing_gets_a_page_that_says_so(api, path, status, words):
    answer = api.http.get(path)
    assert answer.status_code == status
    assert words in answer.text
    assert "Traceback" not in answer.text


def test_a_browser_at_an_unknown_address_gets_a_page_and_a_program_json(api):
    page = api.http.get("/nothing", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "This page does not exist." in page.text
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    for accept in ("*/*", "application/json"):
        answer = api.http.get("/nothing", headers={"Accept": accept})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert api.http.post("/nothing", headers={"Accept": "text/html"}).json()["error"]["code"] == "NOT_FOUND"


def test_the_pages_hold_everything_without_a_module(api):
    debate = api.create(title="Read & <understood>", format="dialogue", motion_content="Line one\nline two")
    page = api.http.get(f"/debates/{debate['id']}/view").text
    assert "Read &amp; &lt;understood&gt;" in page
    assert "Line one<br>\nline two" in page
    assert f"/debates/{debate['id']}/view" in api.http.get("/?q=understood").text


def test_an_argument_says_whose_agent_spoke(api):
    agent = new_agent(Caller(api, None), username="skeptic")
    debate = api.create(format="dialogue", motion_content="Nurses first")
    motion = api.transcript(debate["id"])["motion"]["id"]
    turn = {"role": "opponent", "target_id": motion, "content": "And bakers", "client_request_id": "by-an-agent"}
    assert agent.post(f"/debates/{debate['id']}/arguments", turn).status_code == 201
    page = api.http.get(f"/debates/{debate['id']}/view").text
    assert "external, agent <bdi>skeptic</bdi>" in page
    # The motion came from the operator.
    assert "by agent" not in page


def test_a_first_debate_with_a_model_has_what_a_worker_could_call_filled_in(api, module_place):
    def filled_in(asked=api, **players):
        leases.remove_all(module_place)
        leases.add(module_place, "w", players=players)
        page = re.sub(r"\s+", " ", asked.http.get("/new?player=model").text)
        chosen = re.findall(r'data-player="\w+">.*?<option value="([^"]*)" selected>', page)
        typed = re.findall(r'data-model="\w+" value="([^"]*)"', page)
        return set(zip(chosen, typed, strict=True))

    assert filled_in(openai=[], anthropic=[]) == {(FIRST_MODELS[0], "")}
    assert filled_in(openai=["no key"], anthropic=[]) == {(FIRST_MODELS[1], "")}
    # None of those that are suggested: the first that is offered.
    [(other, typed)] = filled_in(groq=[])
    assert (other[:5], typed) == ("groq:", "")
    assert filled_in(openai=["no key"]) == {("local", "")}
    # Which models an endpoint has, nobody knows: the rest of the name is asked for.
    assert filled_in(module_place.start_api(endpoints=("lab=http://127.0.0.1:9/v1",)), lab=[]) == {("", "lab:")}
    leases.remove_all(module_place)


def test_the_form_for_a_new_debate_offers_the_local_model(api):
    page = api.http.get("/new").text
    assert page.count("local: a small model of 135 million parameters, free") == 3


def test_a_debate_that_lost_its_schedule_is_shown_as_stalled_and_breaks_no_list(api, module_place):
    debate = api.create(title="Lost its schedule")
    debates.change(module_place, "due_at = NULL", debate_id=debate["id"])
    debates.age(module_place, 3600, debate["id"])
    for path in ("/?q=Lost+its+schedule", f"/debates/{debate['id']}/view"):
        assert "Stalled: no worker has taken the proposer" in api.http.get(path).text


def test_the_state_of_the_system_as_json(api, module_place):
    api.create(title="Waits for a worker that is not there")
    # The task is sent after the answer.
    wait_until(lambda: data_of(api.http.get("/system/status"))["queue_length"] >= 1, 60, "the task is in the queue")
    data = data_of(api.http.get("/system/status"))
    assert (data["database"], data["queue"]) == ("up", "up")
    assert data["work"]["workers"] == []
    [(waiting, oldest)] = module_place.sql("SELECT count(*), min(due_at) FROM debates WHERE due_at <= now()")
    assert data["work"]["turns_waiting"] == waiting
    assert datetime.fromisoformat(data["work"]["oldest_waiting_at"]) == pytest.approx(oldest, abs=timedelta(seconds=1))
    assert data["work"]["turns_last_minute"] >= 1


def test_the_state_of_the_system_names_workers_and_what_they_hold(place):
    api = place.start_api()
    worker = place.start_worker()
    seats = {role: {"player": "scripted", "think_seconds": 60} for role in ("proposer", "opponent", "arbitrator")}
    debate = api.create(title="Long thought", seats=seats)
    wait_until(lambda: place.is_claimed(debate["id"]), 60, "a worker thinks")
    [shown] = data_of(api.http.get("/system/status"))["work"]["workers"]
    assert f":{worker.pid}:" in shown["id"]
    [held] = shown["holds"]
    assert (held["debate_id"], held["title"], held["round"], held["role"]) == (
        debate["id"],
        "Long thought",
        1,
        "proposer",
    )
    assert "Long thought" in api.http.get("/system").text

    api.http.post(f"/debates/{debate['id']}/stop")
    worker.terminate()
    worker.wait(60)
    assert NO_WORKER in api.http.get("/system").text


def test_without_redis_the_page_says_that_debates_will_start_later(place):
    api = place.start_api(redis_url="unix:///nowhere/at/all.sock?db=0")
    answer = api.http.get("/system")
    assert answer.status_code == 200
    assert QUEUE_IS_DOWN in answer.text
    assert data_of(api.http.get("/system/status"))["queue_length"] is None


def test_without_the_database_the_pages_say_so(place):
    api = place.start_api(database_url="postgresql://nobody@127.0.0.1:1/none")
    assert "The database is unavailable" in api.http.get("/system").text
    answer = api.http.get("/")
    assert answer.status_code == 503
    assert "The database is unavailable" in answer.text


# Signing in


@pytest.mark.parametrize("path", PAGES)
def test_every_page_leads_to_the_sign_in_and_back(guarded, path):
    answer = guarded.http.get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/sign-in?next={path}"


def test_the_whole_address_is_kept_through_the_sign_in(guarded):
    asked = "/?q=a%26b&status=running"
    sign_in = guarded.http.get(asked).headers["Location"]
    assert f'name="next" value="{escape(asked)}"' in guarded.http.get(sign_in).text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN.upper(), "é"])
def test_a_wrong_token_opens_nothing(guarded, token):
    answer = guarded.http.post("/sign-in", data={"token": token}, headers=OURS)
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert "This token is not correct" in answer.text


@pytest.mark.parametrize(
    "goes_to", ["https://example.org/", "//example.org", "/\\example.org", "javascript:alert(1)", "\\\\example.org", ""]
)
def test_signing_in_never_leads_to_another_site(guarded, goes_to):
    answer = guarded.http.post("/sign-in", data={"token": TOKEN, "next": goes_to}, headers=OURS)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    guarded.http.cookies.clear()


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {},
    ],
    ids=lambda headers: "-".join(headers.values()) or "neither",
)
def test_the_session_changes_nothing_for_a_page_of_another_site(guarded, elsewhere):
    session = signed_in(guarded)
    debate = data_of(guarded.http.post("/debates", json=new_debate(), headers={**session, **OURS}), 201)["debate"]
    stop = guarded.http.post(f"/debates/{debate['id']}/stop", headers={**session, **elsewhere})
    refusal_of(stop, "AUTH_FAILED")
    delete = guarded.http.delete(f"/debates/{debate['id']}", headers={**session, **elsewhere})
    refusal_of(delete, "AUTH_FAILED")
    assert data_of(guarded.http.get(f"/debates/{debate['id']}", headers=session))["debate"]["status"] == "created"


def test_the_session_decides_in_the_review_for_our_own_pages_only(guarded):
    session = signed_in(guarded)
    path = f"/api/v1/guardrail/evaluations/{NO_SUCH_DEBATE}/decision"
    body = {"decision": "approve", "reason": "Fine"}
    elsewhere = guarded.http.post(path, json=body, headers={**session, "Sec-Fetch-Site": "cross-site"})
    assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    ours = guarded.http.post(path, json=body, headers={**session, **OURS})
    assert (ours.status_code, ours.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_an_older_browser_says_where_it_comes_from_by_its_origin(guarded):
    session = signed_in(guarded)
    origin = {"Origin": str(guarded.http.base_url).rstrip("/")}
    data_of(guarded.http.post("/debates", json=new_debate(), headers={**session, **origin}), 201)


def test_another_site_cannot_sign_anybody_in_or_out(guarded):
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert guarded.http.post("/sign-in", data={"token": TOKEN}, headers=elsewhere).status_code == 401
    assert "Set-Cookie" not in guarded.http.post("/sign-out", headers={**signed_in(guarded), **elsewhere}).headers


@pytest.mark.parametrize("change", ["cut", "forged", "other"])
def test_a_changed_cookie_is_no_session(guarded, change):
    name, _, value = signed_in(guarded)["Cookie"].partition("=")
    changed = {"cut": value[:-1], "forged": "A" * len(value), "other": value.swapcase()}[change]
    refusal_of(guarded.http.get("/debates", headers={"Cookie": f"{name}={changed}"}), "AUTH_FAILED")


def test_a_session_works_at_every_api_and_ends_with_the_token(guarded, module_place):
    session = signed_in(guarded)
    other = module_place.start_api(auth_token=TOKEN)
    assert other.http.get("/", headers=session).status_code == 200
    changed = module_place.start_api(auth_token=f"{TOKEN}-2")
    refusal_of(changed.http.get("/debates", headers=session), "AUTH_FAILED")


# Where no token is set, a page of another site must not act through somebody's browser


@pytest.mark.parametrize("elsewhere", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://example.org"}], ids=str)
def test_an_open_server_takes_no_orders_from_other_sites(api, elsewhere):
    debate = api.create()
    refusal_of(api.http.post(f"/debates/{debate['id']}/stop", headers=elsewhere), "FORBIDDEN")
    assert api.debate(debate["id"])["status"] == "created"
    assert api.http.get(f"/debates/{debate['id']}", headers=elsewhere).status_code == 200
    data_of(api.http.post(f"/debates/{debate['id']}/stop", headers=OURS))


def test_modules_and_styles_are_ours_and_small(api):
    page = api.http.get("/").text
    assert 'src="/assets/list.js"' in page
    for name in ("look.css", "parts.css", "experiments.css", "shell.js", "list.js", "review.js", "icon.svg"):
        answer = api.http.get(f"/assets/{name}")
        assert answer.status_code == 200
        assert len(answer.content) < 20_000


def test_the_pages_of_webhooks_show_endpoints_and_what_became_of_their_deliveries(api, module_place):
    body = {"url": "https://example.org/<hooks>", "events": ["debate.stopped"], "description": "the chat"}
    webhook = data_of(api.http.post("/webhooks", json=body), 201)["webhook"]
    debate = api.create(format="dialogue")
    api.http.post(f"/debates/{debate['id']}/stop")
    webhooks.fail(module_place, attempts=2, status=500)
    listed = api.http.get("/webhooks/view").text
    assert "https://example.org/&lt;hooks&gt;" in listed
    assert "the chat" in listed
    assert "/webhooks/view" in api.http.get("/system").text
    page = api.http.get(f"/webhooks/{webhook['id']}/view").text
    assert webhook["secret"] not in listed + page
    assert "debate.stopped" in page
    assert f"/debates/{debate['id']}/view" in page
    assert "2, last response 500: answered 500; next attempt in" in page
    webhooks.give_up(module_place)
    assert "Send again" in api.http.get(f"/webhooks/{webhook['id']}/view").text
    webhooks.disable(module_place, "the endpoint answered 410")
    page = api.http.get(f"/webhooks/{webhook['id']}/view").text
    assert "the endpoint answered 410" in page
    # Nothing is sent to it any more, so nothing is offered that would be refused.
    assert "Send a test message" not in page
    assert "Send again" not in page


def test_the_icon_is_served_at_its_usual_path_without_a_session(guarded):
    answer = guarded.http.get("/favicon.ico")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/svg+xml; charset=utf-8")
