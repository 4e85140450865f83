"""Identifiers are what they say."""

import time

from app.ids import debate_id_for, new_claim_token, new_turn_id


def test_turn_ids_are_uuids_of_version_seven_that_sort_by_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_turn_id() for _ in range(1000)]
    assert {turn_id.version for turn_id in made} == {7}
    assert {turn_id.variant for turn_id in made} == {"specified in RFC 4122"}
    assert len(set(made)) == 1000
    assert before <= made[0].int >> 80 <= made[-1].int >> 80 <= time.time_ns() // 1_000_000


def test_claim_tokens_are_uuids_and_differ() -> None:
    made = {new_claim_token() for _ in range(1000)}
    assert len(made) == 1000
    assert {token.version for token in made} == {7}


def test_a_request_that_names_no_debate_always_means_the_same_one() -> None:
    assert debate_id_for("a") == debate_id_for("a") != debate_id_for("b")
