"""Files of experiments: each kind of mistake is one sentence with file and line."""

import json
from pathlib import Path

import pytest

from app.cli.errors import CommandFailed
from app.cli.experiment.files import read_experiment, read_motions
from app.core.experiments.motions import motion_of
from app.core.players import JudgeOrder
from app.core.schedules import FINAL_RULING

GOOD = """\
name: small-against-large
motions: motions.jsonl
contestants:
  - {name: mini, player: "openai:gpt-5-mini"}
  - {name: sonnet, player: scripted, persona: "a careful economist"}
  - {name: base, player: scripted, skill: 0.2}
pairing: round_robin
format: final_ruling
rounds: 3
judges:
  - {name: big, player: scripted, orders: both}
budget_usd: 20
seed: 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "motions.jsonl").write_text(
        '{"id": "a", "motion": "A is right"}\n\n{"id": "b", "motion": "B is right"}\n'
    )
    return tmp_path


def written(folder: Path, text: str, name: str = "experiment.yaml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def refusal(path: Path) -> str:
    read = read_experiment if path.name == "experiment.yaml" else read_motions
    with pytest.raises(CommandFailed) as refused:
        read(path)
    return refused.value.message.replace(str(path.parent) + "/", "")


def test_a_whole_file_is_read_with_its_motions(folder: Path) -> None:
    found = read_experiment(written(folder, GOOD))
    assert [motion.id for motion in found.motions] == ["a", "b"]
    assert found.spec.pairs == (("mini", "sonnet"), ("mini", "base"), ("sonnet", "base"))
    assert found.spec.judges[0].orders is JudgeOrder.BOTH
    assert (found.spec.swap_sides, found.spec.repeats, found.spec.concurrency) == (True, 1, 50)
    assert found.spec.arms[0].schedule is FINAL_RULING
    assert found.spec.contestants[2].options == {"skill": 0.2}
    assert "motions" not in found.document


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("seed: 7", "sead: 7", "experiment.yaml, line 13: unknown key 'sead'"),
        ("skill: 0.2", "skil: 0.2", "experiment.yaml, line 6: unknown key 'skil'"),
        ("pairing: round_robin", "pairing: [[mini, nobody]]", "experiment.yaml, line 7: pairing names 'nobody', "),
        ("pairing: round_robin", "pairing: {against: nobody}", "experiment.yaml, line 7: pairing names 'nobody'"),
        ("pairing: round_robin", "pairing: all", "experiment.yaml, line 7: pairing must be"),
        ("openai:gpt-5-mini", "openai:no-such-model", "experiment.yaml, line 4: no price is known for openai:no"),
        ("openai:gpt-5-mini", "nobody", "experiment.yaml, line 4: unknown player 'nobody'"),
        ('"openai:gpt-5-mini"', "external", "experiment.yaml, line 4: a contestant must be a player that workers run"),
        ("name: base", "name: mini", "experiment.yaml, line 6: two contestants are named 'mini'"),
        ("rounds: 3", "rounds: three", "experiment.yaml, line 9: rounds must be a whole number"),
        ("final_ruling", "finale", "experiment.yaml, line 8: unknown format 'finale'"),
        ("orders: both", "orders: twice", "experiment.yaml, line 11: orders must be one of"),
        ("budget_usd: 20", "budget_usd: -1", "experiment.yaml, line 12: budget_usd must be a number more than 0"),
        ("seed: 7", "seed: 7\nseed: 8", "experiment.yaml, line 14: the key 'seed' is repeated"),
        ("motions: motions.jsonl", "motions: []", "experiment.yaml, line 2: there are no motions"),
        ("motions: motions.jsonl", "", "experiment.yaml, line 1: motions are missing"),
        ("motions: motions.jsonl", "motions: [{id: x, moton: y}]", "experiment.yaml, line 2: unknown field 'moton'"),
        ("motions: motions.jsonl", "motions: absent.jsonl", "absent.jsonl cannot be read: No such file"),
        ("seed: 7", "arms: {debate: {format: direct}}", "experiment.yaml, line 8: format cannot be combined with arms"),
        ("skill: 0.2", "temperature: 0", "experiment.yaml, line 6: temperature is not an option of the player"),
        ("seed: 7", "document_visible_to: [proposer]", "experiment.yaml, line 13: document_visible_to has no effect"),
        ("seed: 7", "seed: [", "experiment.yaml, line 14: not YAML"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_with_file_and_line(folder: Path, old: str, new: str, expected: str) -> None:
    assert old in GOOD
    said = refusal(written(folder, GOOD.replace(old, new)))
    assert said.startswith(expected)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("m.jsonl", "", "m.jsonl, line 1: there are no motions"),
        ("m.jsonl", '{"id": "a", "motion": "x"}\n{"id": "a", "motion": "y"}', "m.jsonl, line 2: the motion id 'a' "),
        ("m.jsonl", '{"id": "a"}', "m.jsonl, line 1: a motion needs 'motion'"),
        ("m.jsonl", '{"id": "a", "motion": "x"}\n{broken', "m.jsonl, line 2: not JSON"),
        ("m.jsonl", '{"id": "a", "motion": "x", "correct": "c", "answer_a": "1", "answer_b": "2"}', "m.jsonl, line 1"),
        ("m.jsonl", '{"id": "a", "motion": "x", "answer_a": "1"}', "m.jsonl, line 1: a motion has both"),
        ("m.csv", "id,moton\na,x\n", "m.csv, line 1: unknown column 'moton'"),
        ("m.csv", "id,title\na,x\n", "m.csv, line 1: the column 'motion' is missing"),
        ("m.csv", 'id,motion\na,"two\nlines"\nb,x,y\n', "m.csv, line 4: 3 columns where the first line has 2"),
        ("m.csv", "", "m.csv, line 1: the column 'id' is missing"),
        ("m.yaml", "- {id: a, motion: x}\n- {id: b, motion: 3}\n", "m.yaml, line 2: motion must be a text"),
        ("m.yaml", "text\n", "m.yaml, line 1: a motion set is a list"),
        ("m.yaml", "motions: [A]\ntags: [x]\n", "m.yaml, line 2: unknown key 'tags'"),
        ("m.txt", "text\n", "m.txt is no motion set"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_motion_set_names_its_line(folder: Path, name: str, text: str, expected: str) -> None:
    assert refusal(written(folder, text, name)).startswith(expected)


def test_bytes_that_are_no_utf_8_name_their_line(folder: Path) -> None:
    (folder / "m.csv").write_bytes(b"id,motion\na,x\nb,\xe4\n")
    assert refusal(folder / "m.csv") == "m.csv, line 3: not UTF-8 (the byte 0xe4)"


def test_a_file_of_200_megabytes_is_refused_without_being_read(folder: Path) -> None:
    with (folder / "m.jsonl").open("wb") as stream:
        stream.truncate(200_000_000)
    assert refusal(folder / "m.jsonl").startswith("m.jsonl has 200,000,000 bytes, and the maximum is 100,000,000")


def test_yaml_that_multiplies_itself_is_refused(folder: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "parts; use JSON lines" in refusal(written(folder, "\n".join(lines)))


def test_the_three_kinds_of_motion_sets_say_the_same(folder: Path) -> None:
    motion = {"id": "a", "motion": "x", "answer_a": "1", "answer_b": "2", "correct": "b", "tags": ["t", "u"]}
    json_lines = written(folder, json.dumps(motion), "m.jsonl")
    table = written(folder, "id,motion,answer_a,answer_b,correct,tags\na,x,1,2,answer_b,t;u\n", "m.csv")
    yaml = written(
        folder, "motions:\n- {id: a, motion: x, answer_a: '1', answer_b: '2', correct: b, tags: [t, u]}\n", "m.yaml"
    )
    [first], [second], [third] = (read_motions(each) for each in (json_lines, table, yaml))
    assert first == second == third
    assert first.as_json() == motion


def test_a_bare_text_keeps_its_id_when_others_are_added_before_it() -> None:
    assert motion_of("Cats are better").id == motion_of(" Cats are better ").id
    assert motion_of("Cats are better").id != motion_of("Dogs are better").id


def test_direct_and_consultancy_need_no_second_contestant(folder: Path) -> None:
    text = "name: x\nmotions: [A, B]\ncontestants: [{name: a, player: scripted}]\narms:\n  blind: {format: direct}\n"
    found = read_experiment(written(folder, text + "  one: {format: consultancy, rounds: 2}\n"))
    assert [(arm.name, arm.schedule.name, arm.rounds) for arm in found.spec.arms] == [
        ("blind", "direct", None),
        ("one", "consultancy", 2),
    ]
    assert found.spec.pairs == ()
    assert "two contestants" in refusal(written(folder, text + "  two: {format: rounds}\n"))
