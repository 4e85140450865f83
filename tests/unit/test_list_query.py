"""The address of the list: what it asks for, and that it leads back to the same list."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.core.debate import Status
from app.core.errors import InvalidInput
from app.core.verdicts import Verdict, VerdictScope
from app.web.query import list_query
from app.web.scores import MOST_IN_WORDS, chart_of

EVERYTHING = {
    "q": "cars",
    "status": "created,failed",
    "state": "CLOSED",
    "format": "rounds",
    "kind": "coding_plan_debate",
    "player": "openai:gpt-5-mini",
    "winner": "tie",
    "tag": "nightly",
    "experiment": "0e5a11aa-0000-4000-8000-00000000000a",
    "error": "true",
    "since": "2026-01-30",
    "until": "2026-01-31",
    "sort": "cost",
    "columns": "now,tags",
    "view": "Nightly runs",
}


def test_the_address_of_a_list_leads_to_the_same_list():
    asked = list_query(EVERYTHING)
    again = dict(parse_qsl(urlsplit(asked.address()).query))
    assert again == EVERYTHING
    assert list_query(again) == asked
    # The day that was named last is part of it.
    assert asked.filters.until == datetime(2026, 2, 1, tzinfo=UTC)


def test_a_status_is_added_to_the_others_and_taken_away_again():
    asked = list_query({"status": "failed"})
    assert asked.with_status("created") == "/?status=created%2Cfailed"
    assert list_query({"status": "created,failed"}).with_status("created") == "/?status=failed"
    assert asked.with_status("failed") == "/"
    assert asked.filters.status == (Status.FAILED,)


@pytest.mark.parametrize("q", ["0e5a11aa", "0E5A11AA-00", "0e5a11aa-0000-4000-8000-00000000000a"])
def test_a_search_for_the_beginning_of_an_id_is_one(q):
    assert (list_query({"q": q}).filters.id, list_query({"q": q}).filters.q) == (q, None)
    assert list_query({"q": q}).search == q


@pytest.mark.parametrize("q", ["cars", "2026", "decade", "0e5a11aa bridges", "0e5a11aa-"])
def test_other_words_are_searched_in_titles(q):
    assert (list_query({"q": q}).filters.id, list_query({"q": q}).filters.q) == (None, q)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sort", "size"),
        ("kind", "quarrel"),
        ("winner", "judge"),
        ("error", "maybe"),
        ("since", "yesterday"),
        ("experiment", "x"),
        ("player", "a\0b"),
        ("tag", "x" * 201),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=name):
        list_query({name: value})


def test_the_chart_has_all_rounds_and_says_the_last_ones():
    verdict = Verdict("proposer", {"proposer": 7, "opponent": 5}, "Why", scope=VerdictScope.ROUND)
    chart = chart_of([(number, verdict) for number in range(1, 201)])
    assert chart.rounds == list(range(1, 201))
    assert {len(points) for points in chart.lines.values()} == {200}
    assert chart.in_words.count("round ") == MOST_IN_WORDS
