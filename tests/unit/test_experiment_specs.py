"""Specs: an arm's defaults, what has no effect is refused by its name, and which spec may follow another."""

import json
from typing import Any

import pytest

from app.core.errors import Conflict
from app.core.experiments.extension import refuse_incompatible
from app.core.experiments.given import given_spec_of, refuse_unused_documents
from app.core.experiments.motions import motion_of
from app.core.experiments.spec import SpecProblem

MODEL, SCRIPTED = "openai:gpt-5-mini", "scripted"
ARMS = {
    "debate": {"format": "final_ruling", "rounds": 2},
    "simultaneous": {"format": "simultaneous"},
    "one": {"format": "consultancy", "language": "French", "prompts": None},
    "informed": {"format": "direct", "document_visible_to": ["arbitrator"]},
}


def a_spec(**changes: Any) -> dict[str, Any]:
    made = {
        "name": "x",
        "contestants": [{"name": "a", "player": MODEL, "temperature": 1}, {"name": "b", "player": SCRIPTED}],
        "judges": [{"name": "j", "player": MODEL, "persona": "strict", "max_tokens": 500}],
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def without(arms: dict[str, Any], name: str) -> dict[str, Any]:
    return {arm: rules for arm, rules in arms.items() if arm != name}


def test_what_stands_at_the_top_of_a_spec_applies_to_each_arm_that_does_not_say_otherwise() -> None:
    given = a_spec(arms=ARMS, prompts="mine", language="German", document_visible_to=["opponent", "proposer"])
    found = {arm.name: (arm.prompts, arm.language, arm.document_visible_to) for arm in given_spec_of(given).arms}
    debaters = ("proposer", "opponent")
    assert found == {
        "debate": ("mine", "German", debaters),
        "simultaneous": ("mine", "German", debaters),
        "one": (None, "French", debaters),
        "informed": ("mine", "German", ("arbitrator",)),
    }


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"judges": [{"name": '=HYPERLINK("x")', "player": MODEL}]}, ("judges", 0, "name"), "must not begin with"),
        ({"contestants": [{"name": "a\u202eb", "player": MODEL}, {"name": "b", "player": SCRIPTED}]},
         ("contestants", 0, "name"), "characters that cannot be printed"),
        ({"arms": ARMS, "format": "rounds"}, ("format",), "format cannot be combined with arms"),
        ({"arms": ARMS, "rounds": 2}, ("rounds",), "rounds cannot be combined with arms"),
        ({"arms": {"a": {"langage": "x"}}}, ("arms", "a", "langage"), "unknown key 'langage'"),
        ({"arms": {"a": {"language": "x"}}, "language": "y"}, ("language",), "each arm states its own"),
        ({"contrasts": [["a", "b"]]}, ("contrasts",), "needs arms"),
        ({"arms": ARMS, "contrasts": [["debate", "dbate"]]}, ("contrasts", 0), "'dbate', which is no arm"),
        ({"arms": ARMS, "contrasts": [["debate", "debate"]]}, ("contrasts", 0), "two different arms"),
        ({"arms": ARMS, "contrasts": [["debate", "one"]] * 2}, ("contrasts", 1), "listed twice"),
        ({"judges": [{"player": MODEL, "beliefs": 1}]}, ("judges", 0, "beliefs"), "must be true or false"),
        ({"format": "direct", "contestants": None, "judges": [{"player": MODEL, "beliefs": True}]},
         ("judges", 0, "beliefs"), "nobody speaks"),
        ({"arms": {"": {}}}, ("arms", ""), "the name of an arm"),
        ({"arms": ARMS, "document_visible_to": ["judge"]}, ("document_visible_to",), "must list seats"),
        ({"arms": ARMS, "prompts": 1}, ("prompts",), "prompts must be a text"),
        ({"document_visible_to": []}, ("document_visible_to",), "at least one seat"),
        ({"arms": {"a": {"format": "direct", "document_visible_to": ["proposer"]}}, "contestants": None},
         ("arms", "a", "document_visible_to"), "names the proposer"),
        ({"format": "consultancy", "document_visible_to": ["opponent"]}, ("document_visible_to",), "the opponent"),
        ({"format": "direct"}, ("contestants",), "contestants has no effect"),
        ({"format": "direct", "contestants": None, "swap_sides": False}, ("swap_sides",), "swap_sides has no effect"),
        ({"format": "consultancy", "pairing": "round_robin"}, ("pairing",), "pairing has no effect"),
        ({"contestants": [{"name": each, "player": SCRIPTED} for each in "abc"], "pairing": [["a", "b"]]},
         ("contestants", 2), "leaves out the contestant 'c'"),
        ({"contestants": [{"player": MODEL, "skill": 1}, {"player": SCRIPTED}]},
         ("contestants", 0, "skill"), "skill is not an option"),
        ({"contestants": [{"player": MODEL}, {"player": SCRIPTED, "thinking": "low"}]},
         ("contestants", 1, "thinking"), "thinking is not an option"),
        ({"judges": [{"player": MODEL, "noise": 0}]}, ("judges", 0, "noise"), "noise is not an option"),
        ({"judges": [{"player": "local", "thinking": "low"}]}, ("judges", 0, "thinking"), "thinking is not an option"),
        ({"judges": [{"player": MODEL, "skill": 1}]}, ("judges", 0, "skill"), "unknown key 'skill'"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_refused_by_its_name(changes: Any, place: Any, words: str) -> None:
    with pytest.raises(SpecProblem) as refused:
        given_spec_of(a_spec(**changes))
    assert refused.value.place == place
    assert words in refused.value.message


def test_seats_that_read_documents_need_a_document() -> None:
    motions = [motion_of({"id": "m", "motion": "x"}), motion_of({"id": "n", "motion": "y", "document": "z"})]
    for changes, place in (
        ({"arms": ARMS}, ("arms", "informed", "document_visible_to")),
        ({"arms": without(ARMS, "informed"), "document_visible_to": ["proposer"]}, ("document_visible_to",)),
    ):
        given = a_spec(**changes)
        spec = given_spec_of(given)
        refuse_unused_documents(given, spec, motions)
        with pytest.raises(SpecProblem) as refused:
            refuse_unused_documents(given, spec, motions[:1])
        assert refused.value.place == place
    refuse_unused_documents(a_spec(), given_spec_of(a_spec()), motions[:1])


def as_postgres_keeps_it(given: Any) -> Any:
    """JSONB orders keys by their length, then by their bytes."""
    if isinstance(given, dict):
        return {key: as_postgres_keeps_it(given[key]) for key in sorted(given, key=lambda key: (len(key), key))}
    return [as_postgres_keeps_it(each) for each in given] if isinstance(given, list) else given


@pytest.mark.parametrize(
    "added",
    [
        {},
        {"arms": {**ARMS, "more": {"format": "interactive"}}},
        {"arms": {"more": {"format": "direct"}, **ARMS}},
        {"arms": {**ARMS, "debate": {"rounds": 2, "format": "final_ruling"}}},
        {"language": None, "arms": {name: {"language": "German", **rules} for name, rules in ARMS.items()}},
        {"contestants": [*a_spec()["contestants"][::-1], {"name": "c", "player": SCRIPTED}]},
        {"document_visible_to": ["opponent", "arbitrator"]},
        {"judges": [{"max_tokens": 500, "persona": "strict", "player": MODEL, "name": "j", "thinking": None}]},
    ],
)
def test_the_same_content_and_more_may_follow(added: Any) -> None:
    given = a_spec(arms=ARMS, language="German", document_visible_to=["arbitrator", "opponent"])
    stored = as_postgres_keeps_it(json.loads(json.dumps(given)))
    assert list(stored["arms"]) != list(ARMS), "the order of keys differs"
    after = {key: value for key, value in {**given, **added}.items() if value is not None}
    refuse_incompatible(given_spec_of(stored), given_spec_of(after))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"arms": {**ARMS, "debate": {"format": "final_ruling", "rounds": 3}}}, "arms.debate.rounds"),
        ({"arms": {**ARMS, "one": {"format": "consultancy"}}}, "arms.one.language"),
        ({"arms": without(ARMS, "debate")}, "arms"),
        ({"arms": ARMS, "language": "German"}, "arms.debate.language"),
        ({"arms": None}, "arms"),
    ],
)
def test_what_would_mix_two_experiments_is_refused_by_its_name(changes: Any, field: str) -> None:
    with pytest.raises(Conflict) as refused:
        refuse_incompatible(given_spec_of(a_spec(arms=ARMS)), given_spec_of(a_spec(**changes)))
    assert refused.value.context["field"] == field
    with pytest.raises(Conflict, match="began without arms"):
        refuse_incompatible(given_spec_of(a_spec()), given_spec_of(a_spec(arms=ARMS)))
