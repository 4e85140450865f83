"""The pages of experiments over plain HTTP: who gets a page and who JSON, what they say, and what they never do."""

import re
import uuid
from html import unescape
from itertools import permutations

import pytest
from agents import TOKEN
from experiment_steps import a_spec, completed_over_http
from situations import experiments, judgments

from app.words.results import ARMS_PLOT_SAYS, ARMS_SAY, BELIEFS_SAY, CALIBRATION_SAYS, SWING_SAYS

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
HEAD = "debate_id,motion_id,proposer,opponent,judge,winner,order\n"
HOSTILE = "<script>alert(1)</script>\"'&\u202edrawkcab"
NO_SUCH = "00000000-0000-0000-0000-000000000000"


def imported(api, rows, name=None):
    answer = api.http.post("/experiments/import", params={"name": name or f"i-{uuid.uuid4()}"}, content=HEAD + rows)
    assert answer.status_code == 201, answer.text
    return f"/experiments/{answer.json()['data']['experiment']['id']}"


def page(api, path):
    answer = api.http.get(path, headers=BROWSER)
    assert answer.status_code == 200, answer.text
    assert "text/html" in answer.headers["Content-Type"]
    return re.sub(r"\s+", " ", answer.text)


def plain(name):
    return "".join(filter(str.isalnum, name))


def rows(names, motions=("m1", "m2"), winner=lambda *_: "proposer", judge="j"):
    return "".join(
        f"{m}-{plain(i)}-{plain(j)},{m},{i},{j},{judge},{winner(i, m)},as_spoken\n"
        for m in motions
        for i, j in permutations(names, 2)
    )


@pytest.fixture(scope="module")
def held(api, module_place):
    """Two motions, held to the end."""
    return completed_over_http(api.http.request, module_place)


def test_one_address_is_a_page_for_browsers_and_json_for_programs(api, held):
    for path in ("/experiments", held):
        assert api.http.get(path, headers=BROWSER).headers["Content-Type"].startswith("text/html")
        assert "Accept" in api.http.get(path, headers=BROWSER).headers["Vary"]
        for accept in ("*/*", "application/json", ""):
            answer = api.http.get(path, headers={"Accept": accept})
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.json()["success"] is True
    assert api.http.get(f"{held}/results", headers=BROWSER).headers["Content-Type"] == "application/json"
    assert api.http.post(f"{held}/pause", headers=BROWSER).headers["Content-Type"] == "application/json"


def test_with_a_token_the_pages_ask_to_sign_in_and_the_api_refuses(module_place, held):
    guarded = module_place.start_api(auth_token=TOKEN)
    for path in ("/experiments", held, f"{held}/debates", f"{held}/compare", f"{held}/judge", f"{held}/pair/{NO_SUCH}"):
        answer = guarded.http.get(path, headers=BROWSER)
        assert answer.status_code == 302, path
        assert answer.headers["Location"].startswith("/sign-in?next=/experiments")
    assert guarded.http.get(held).status_code == 401
    posted = guarded.http.post(f"{held}/judge", data={"winner": "1"}, headers={"Sec-Fetch-Site": "same-origin"})
    assert posted.headers["Location"].startswith("/sign-in")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/experiments/{NO_SUCH}", 404),
        (f"/experiments/{NO_SUCH}/debates", 404),
        (f"/experiments/{NO_SUCH}/pair/{NO_SUCH}", 404),
        (f"/experiments/{NO_SUCH}/compare", 404),
        (f"/experiments/{NO_SUCH}/judge", 404),
        ("/experiments/nonsense/debates", 400),
        ("{held}/pair/nonsense", 400),
        ("{held}/pair/" + NO_SUCH, 404),
        ("{held}/compare?with=nonsense", 400),
        ("{held}/compare?with=" + NO_SUCH, 404),
        ("{held}/debates?status=nonsense", 400),
        ("{held}/debates?motion=%00", 400),
        ("{held}/debates?cursor=nonsense", 400),
        ("/experiments?cursor=nonsense", 400),
    ],
)
def test_what_is_not_there_or_malformed_is_a_page_that_says_so(api, held, path, status):
    answer = api.http.get(path.format(held=held), headers=BROWSER)
    assert answer.status_code == status, answer.text
    assert "<h1" in answer.text


def test_hostile_names_are_only_text_on_every_page(api):
    at = imported(api, rows(['"a,""<b>"""', "<script>alert(2)</script>"]), name=HOSTILE[:90])
    matches = api.http.get(f"{at}/matches").json()["data"]["matches"]
    other = imported(api, rows(["a", "b"]))
    paths = ("/experiments", at, f"{at}/debates", f"{at}/pair/{matches[0]['debate_id']}")
    for path in (*paths, f"{at}/compare?with={other.rpartition('/')[2]}"):
        answer = api.http.get(path, headers=BROWSER)
        assert "<script>alert" not in answer.text, path
        assert "style=" not in answer.text, path
        assert "\u202e" not in answer.text, path
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_an_experiment_shows_its_figures_each_with_how_to_read_it(api, held):
    shown = page(api, held)
    for words in (
        "Each dot is a rating",
        "Each cell shows the share of points",
        "Flips are debates",
        '<b>4</b><span class="muted">of 4',
        '<b>8</b><span class="muted">of 8',
    ):
        assert words in shown, words
    assert shown.count("<svg role=") == 3, "ratings for a wide and a narrow window, and the matrix"
    [cell] = re.findall(r'<a href="([^"]+)" aria-label="strong proposed, weak opposed', shown)
    listed = page(api, cell.replace("&amp;", "&"))
    assert listed.count("Side by side</a>") == 2, "one order of the two: that of the cell"
    assert "weak proposes" not in listed
    pair = re.search(r'href="(/experiments/[^"]+/pair/[^"]+)"', listed)[1]
    both = page(api, pair)
    assert "strong proposes, weak opposes" in both
    assert "weak proposes, strong opposes" in both
    assert both.count("<b><bdi>script</bdi></b>") == 4
    assert "All planned debates and judgments have finished or failed." in shown


def test_a_failed_debate_is_missing_and_leads_to_its_reason(api, module_place, held):
    experiment_id = held.rpartition("/")[2]
    experiments.fail_first_match(module_place, experiment_id, "No <b>money</b>")
    try:
        shown = page(api, held)
        assert "1 debate failed and left out: not counted as a loss or a tie." in shown
        assert "Retry failed" in re.search(r'data-control="retry-failed"[^>]*>([^<]+)', shown)[1]
        assert "No &lt;b&gt;money&lt;/b&gt;" in page(api, f"{held}/debates?status=failed")
    finally:
        experiments.complete_first_match(module_place, experiment_id)


def test_a_draft_says_that_nothing_was_judged(api):
    made = api.http.post("/experiments", json=a_spec(name=f"draft-{uuid.uuid4()}")).json()["data"]["experiment"]
    shown = page(api, f"/experiments/{made['id']}")
    assert "No debate has been judged yet." in shown
    assert "The experiment has not started." in shown
    assert "<svg role=" not in shown
    assert "Nothing judged yet" in page(api, "/experiments")
    # It was not begun, and "0 of 0" would look like all of it.
    for said in (shown, page(api, "/experiments")):
        assert "Begun" not in said
        assert "0 of 0" not in said
        assert "none planned yet" in said
    assert "0 judgments" not in shown


def test_several_arms_have_figures_of_their_own_whose_cells_lead_to_the_arm(api):
    name = f"arms-{uuid.uuid4()}"
    lines = [f"{arm}{line},{arm}\n" for arm in ("first", HOSTILE.replace('"', "")) for line in rows("ab").splitlines()]
    body = HEAD.replace("order", "order,arm") + "".join(lines)
    answer = api.http.post("/experiments/import", params={"name": name}, content=body.encode())
    at = f"/experiments/{answer.json()['data']['experiment']['id']}"
    shown = page(api, at)
    assert shown.count("<svg role=") == 7
    assert '<h3 dir="auto">first</h3>' in shown
    assert 'aria-label="Judges by arm"' in shown
    assert "<script>alert" not in shown
    [cell, _] = re.findall(r'<a href="([^"]+)" aria-label="a proposed, b opposed', shown)
    assert page(api, cell.replace("&amp;", "&")).count("Side by side</a>") == 2


def test_beliefs_and_calibration_are_figures_that_words_describe(api):
    names = "debate_id,motion_id,proposer,opponent,judge,winner,confidence,correct,arm,through_round\n"
    lines = [
        f"{arm}{motion},m{motion},a,b,j,proposer,{0.5 + 0.1 * k},proposer,{arm},{k if k < 3 else ''}\n"
        for arm in ("first", "second")
        for motion in range(6)
        for k in range(4)
    ]
    name = f"beliefs-{uuid.uuid4()}"
    answer = api.http.post("/experiments/import", params={"name": name}, content=(names + "".join(lines)).encode())
    shown = page(api, f"/experiments/{answer.json()['data']['experiment']['id']}")
    curve = "Belief after each round. round 0: 50 %; round 1: 60 %; round 2: 70 %; round 3: 80 %"
    assert shown.count(f'aria-label="{curve}"') == 2, "one for each arm"
    for what in ("Calibration. 80 % sure, 100 % right", "Arms by accuracy. first 100 %; second 100 %"):
        assert f'aria-label="{what}"' in shown
    for sentence in (BELIEFS_SAY, CALIBRATION_SAYS, SWING_SAYS, ARMS_SAY, ARMS_PLOT_SAYS):
        assert sentence in unescape(shown)
    assert "From 12 judgments of 12 debates" in shown, "a judgment of a part is none of the whole"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (rows("ab", motions=["m1"], winner=lambda *_: "tie"), "All debates are on one motion"),
        ("d1,m1,a,,j,proposer,as_spoken\nd2,m2,a,,j,opponent,as_spoken\n", "there is nothing to compare"),
        (rows("ab", winner=lambda *_: "tie"), "Every debate was a tie"),
        (rows("ab", winner=lambda i, _: "proposer" if i == "a" else "opponent"), "no finite rating to: a, b"),
        (rows("ab") + rows("cd"), "never met, so they cannot be rated on one scale: a, b; c, d"),
        (rows("ab", motions=["m1"]) + rows("ab", motions=["m2"], judge="k"), "no debate in common"),
    ],
    ids=["one motion", "one contestant", "all ties", "won everything", "disconnected", "judges never overlap"],
)
def test_where_there_is_no_number_the_page_says_why(api, given, words):
    shown = page(api, imported(api, given))
    assert words in shown
    assert "nan" not in shown.lower().replace("unanswered", "")
    assert "None" not in shown


def test_two_experiments_are_compared_over_the_motions_they_share(api):
    won = imported(api, rows("ab", motions=["m1", "m2", "m3"]), name=f"a-{uuid.uuid4()}")
    mixed = rows("ab", motions=["m2", "m3", "m4"], winner=lambda _, m: "tie" if m == "m2" else "opponent")
    other = imported(api, mixed, name=f"b-{uuid.uuid4()}")
    shown = page(api, f"{won}/compare?with={other.rpartition('/')[2]}")
    assert "+75.0" in shown
    assert "Paired: over the motions that both arms have" in shown
    same = api.http.get(f"{won}/compare?with={won.rpartition('/')[2]}", headers=BROWSER)
    assert same.status_code == 400
    assert "same experiment twice" in same.text
    apart = imported(api, rows("ab", motions=["z1", "z2"]))
    assert "no motion in common" in page(api, f"{won}/compare?with={apart.rpartition('/')[2]}")


def test_debates_of_an_experiment_are_marked_in_the_list_and_filtered(api, held):
    experiment_id = held.rpartition("/")[2]
    shown = page(api, f"/?experiment={experiment_id}")
    assert shown.count(f'<a href="/experiments/{experiment_id}">experiment</a>') == 4
    assert f'name="experiment" value="{experiment_id}"' in shown
    assert api.http.get("/?experiment=nonsense", headers=BROWSER).status_code == 400


def test_results_are_kept_until_anything_they_rest_on_changes(api, module_place, held):
    def results():
        return api.http.get(f"{held}/results").json()["data"]["results"]

    before = results()
    assert results() == before
    debate = api.http.get(f"{held}/matches").json()["data"]["matches"][0]["debate_id"]
    given = {"judge": "late", "verdict": {"winner": "tie"}}
    assert api.http.post(f"/debates/{debate}/judgments", json=given).status_code == 201
    assert results()["rests_on"]["judgments"] == before["rests_on"]["judgments"] + 1
    assert "person:late" in page(api, held)
    judgments.remove_of(module_place, "person:late")
    assert results() == before


def test_an_imported_debate_says_that_it_has_no_transcript(api):
    at = imported(api, rows("ab"))
    debate_id = api.http.get(f"{at}/matches").json()["data"]["matches"][0]["debate_id"]
    for shown in (page(api, f"/debates/{debate_id}/view"), page(api, f"/?experiment={at.rpartition('/')[2]}")):
        assert "It ran elsewhere and was imported" in shown
        assert "No transcript" in shown
        assert "ll rounds finished" not in shown
        assert "0 rounds" not in shown
    listed = page(api, f"{at}/debates")
    assert "Transcript</a>" not in listed
    assert "Side by side</a>" in listed
