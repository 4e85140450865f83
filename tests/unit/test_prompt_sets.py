"""Prompt sets: what is refused when one is added, what it lacks, and what its hash tells apart."""

import json
from pathlib import Path
from string import Template

import pytest
from test_model_prompts import brief_of, in_every_seat

from app.core.brief import Brief
from app.core.errors import ContentTooLarge, InvalidInput
from app.core.material import Material
from app.core.model_calls import INSTRUCTIONS_BYTES
from app.core.prompt_sets import BASE, BUILT_IN, FILES, MOST_BYTES, PromptSet, checked_set, hash_of
from app.core.schedules import Schedule
from app.core.seats import Seat
from worker.players.models import prompt
from worker.players.models.answers import AnswerRuling, Ruling
from worker.players.models.prompt import built_in, instructions, prompts_of, task

FOLDER = Path(prompt.__file__).parent / "prompts" / BASE


def test_the_built_in_set_is_a_set_that_could_be_added() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert files.keys() == FILES.keys()
    checked_set("copy", files)
    used = {name: set(Template(text).get_identifiers()) for name, text in files.items()}
    # No variable is offered that no built-in file of its kind uses.
    assert set().union(*used.values()) == set().union(*FILES.values())


@pytest.mark.parametrize("version", list(BUILT_IN))
def test_a_version_never_changes(version: str) -> None:
    """What was measured with it stays comparable. A change makes a new folder, and a new line in BUILT_IN."""
    assert built_in(version).hash == BUILT_IN[version]


def test_there_is_a_hash_of_every_version() -> None:
    assert {path.name for path in FOLDER.parent.iterdir()} == BUILT_IN.keys()


@in_every_seat
def test_the_longest_instructions_with_the_schema_of_the_answer_are_within_what_is_reserved(
    seat: Seat, form: Schedule
) -> None:
    answers = {"proposer": "Yes", "opponent": "No"}
    for material in (None, Material(answers=answers), Material("ab" * 32, 10, tuple(Seat), answers)):
        brief = brief_of("A motion", "One", seat=seat, form=form)
        brief = Brief(brief.debate.evolve(material=material), brief.motion, brief.turns)
        schema = (AnswerRuling if material else Ruling).model_json_schema() if brief.rules else {}
        assert len((instructions(brief) + task(brief, 1000) + json.dumps(schema)).encode()) < INSTRUCTIONS_BYTES


@pytest.mark.parametrize(
    ("name", "files", "says"),
    [
        ("", {"persona": "x"}, "name: must be lower-case letters"),
        ("Big", {"persona": "x"}, "name: must be lower-case letters"),
        ("a/b", {"persona": "x"}, "name: must be lower-case letters"),
        (BASE, {"persona": "x"}, "not a built-in set"),
        ("mine", {}, "files: must have one file or more"),
        ("mine", {"README": "x"}, "files.README: is no file of a prompt set"),
        ("mine", {"rules-chess": "x"}, "is no file of a prompt set"),
        ("mine", {"persona": " \n"}, "files.persona: must not be empty"),
        ("mine", {"persona": "a\x00b"}, "must not hold a NUL"),
        ("mine", {"persona": "You owe $5"}, "has a \\$ that begins no variable"),
        ("mine", {"persona": "Be $persona in $round"}, "uses the unknown variable \\$round; known there: \\$persona"),
        ("mine", {"document": "$motion"}, "unknown variable \\$motion; known there: none"),
    ],
)
def test_a_set_that_could_not_be_used_is_refused(name: str, files: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        checked_set(name, files)


def test_a_file_has_an_end() -> None:
    checked_set("mine", {"persona": "x" * MOST_BYTES})
    with pytest.raises(ContentTooLarge):
        checked_set("mine", {"persona": "x" * (MOST_BYTES + 1)})


def test_a_hash_tells_sets_apart_and_does_not_depend_on_the_order_or_the_name() -> None:
    one = checked_set("one", {"persona": "x", "manners": "y"})
    assert checked_set("two", {"manners": "y", "persona": "x"}).hash == one.hash
    others = [{"persona": "x"}, {"persona": "x", "manners": "z"}, {"persona": "y", "manners": "x"}]
    assert len({one.hash, built_in().hash, *(checked_set("one", files).hash for files in others)}) == 5
    assert hash_of("v1", one.files) != one.hash


@in_every_seat
def test_what_a_set_lacks_comes_from_the_built_in_one(seat: Seat, form: Schedule) -> None:
    brief = brief_of("A motion", "One", seat=seat, form=form, persona="A pirate")
    mine = prompts_of(PromptSet("mine", "h", BASE, {"persona": "Speak as $persona, for $$5."}))
    usual = task(brief, 1000)
    persona_line = built_in()["persona"].substitute(persona='"A pirate"')
    assert persona_line in usual
    assert task(brief, 1000, mine) == usual.replace(persona_line, 'Speak as "A pirate", for $5.')
    assert instructions(brief, mine) == instructions(brief)
    brief_set = prompts_of(PromptSet("mine", "h", BASE, {"manners": "Be brief, in $language."}))
    assert "Be brief, in the language of the motion." in instructions(brief, brief_set)


@pytest.mark.parametrize("seat", list(Seat))
def test_the_language_of_a_debate_is_in_the_instructions_of_every_seat(seat: Seat) -> None:
    brief = brief_of("A motion", "One", seat=seat)
    spoken = instructions(type(brief)(brief.debate.evolve(language='German"'), brief.motion, brief.turns))
    assert 'in this language: "German\\""' in spoken
    assert "language of the motion" not in spoken
    assert "in the language of the motion" in instructions(brief)
