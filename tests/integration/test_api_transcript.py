"""GET /debates/:id: the debate, its motion, and the last of its arguments."""

import pytest
from test_api_envelope import data_of

CYCLES = 4


@pytest.fixture(scope="module")
def long_debate(api):
    """A debate with eight arguments after its motion: interventions and rulings in turn."""
    debate_id = api.create(format="dialogue")["id"]
    for number in range(CYCLES):
        for action in ("intervention", "ruling"):
            said = {"content": f"{action} {number}"}
            data_of(api.http.post(f"/debates/{debate_id}/{action}", json=said), 201)
    return debate_id


def read(api, debate_id, **query):
    return data_of(api.http.get(f"/debates/{debate_id}", params=query))


def seqs(transcript):
    return [argument["seq"] for argument in transcript["arguments"]]


def test_without_a_limit_all_arguments_come_in_order(api, long_debate):
    transcript = read(api, long_debate)

    assert list(transcript) == ["debate", "motion", "arguments"]
    assert transcript["debate"]["argument_count"] == 9
    assert seqs(transcript) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert [argument["content"] for argument in transcript["arguments"][:3]] == [
        "intervention 0",
        "ruling 0",
        "intervention 1",
    ]


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        (0, []),
        (1, [9]),
        (3, [7, 8, 9]),
        (7, [3, 4, 5, 6, 7, 8, 9]),
        (8, [2, 3, 4, 5, 6, 7, 8, 9]),
        (9, [2, 3, 4, 5, 6, 7, 8, 9]),
        (1000, [2, 3, 4, 5, 6, 7, 8, 9]),
        (2**31 - 1, [2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_limit_gives_the_last_arguments_and_does_not_count_the_motion(api, long_debate, limit, wanted):
    everything, some = read(api, long_debate), read(api, long_debate, limit=limit)

    assert seqs(some) == wanted
    assert some["arguments"] == [one for one in everything["arguments"] if one["seq"] in wanted]
    assert (some["debate"], some["motion"]) == (everything["debate"], everything["motion"])


def test_a_debate_is_found_however_its_uuid_is_spelt(api, long_debate):
    assert read(api, long_debate.upper()) == read(api, long_debate)
