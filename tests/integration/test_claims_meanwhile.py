"""What somebody does to a debate between the two statements of a claim is ordinary, and the log says nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from claimed_debates import CLAIM, a_debate, claimed, take_turn, try_claim
from harness import Place
from situations.debates import change, damage_cursor, pass_deadline

from app.core.access import OPERATOR
from app.core.brief import Thought
from app.core.debate import Debate, Limits, TurnType
from app.core.errors import ActionNotAllowed
from app.core.seats import Seat
from app.store import claims
from app.store.statements import Prepared
from app.usecases import control
from app.usecases.services import Services
from app.usecases.submit import Submission, submit


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Does something after a claim's first statement and before its second."""

    def before_the_turns_are_read(action: Callable[[], object]) -> None:
        real, actions = Prepared.run, [action]

        def run(self: Prepared, *args: Any, **options: Any) -> Any:
            if self is claims._LAST_TURNS and actions:
                actions.pop()()
            return real(self, *args, **options)

        monkeypatch.setattr(Prepared, "run", run)

    return before_the_turns_are_read


def damage(place: Place) -> None:
    damage_cursor(place)
    change(place, "turn_count = 40")


def repairs(logs: list[Any]) -> list[Any]:
    return [entry for entry in logs if entry["event"] == "debate.cursor_repaired"]


def test_a_deletion_is_no_damage(services: Services, debate: Debate, meanwhile: Any, logs: list[Any]) -> None:
    meanwhile(lambda: control.delete_debate(services, OPERATOR, debate.id))
    assert try_claim(services, debate.id) is None
    assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []


def test_an_intervention_during_a_claim_repairs_nothing(
    services: Services, debate: Debate, place: Place, meanwhile: Any, logs: list[Any]
) -> None:
    meanwhile(
        lambda: submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Stay calm"))
    )
    claim = try_claim(services, debate.id)
    if claim is not None:
        take_turn(services, claim, CLAIM, go_on=False)
    assert place.sql("SELECT turn_count, intervention_open FROM debates") == [(2, True)]
    assert repairs(logs) == []


def test_the_end_of_a_debate_at_its_limit_repairs_nothing(services: Services, place: Place, logs: list[Any]) -> None:
    debate = a_debate(services, limits=Limits(max_rounds=3, max_seconds=600))
    claim: Any = claimed(services, debate)
    for kind in (TurnType.CLAIM, TurnType.CLAIM, TurnType.RULING):
        claim = take_turn(services, claim, Thought(kind, "words"), go_on=kind is not TurnType.RULING)
    pass_deadline(place)
    assert try_claim(services, debate.id) is None
    assert place.sql("SELECT closing, next_actor FROM debates") == [("time_limit", "judge")]
    assert repairs(logs) == []


def test_a_repair_is_logged_when_a_worker_has_stored_it(
    services: Services, debate: Debate, place: Place, logs: list[Any]
) -> None:
    damage(place)
    claim = claimed(services, debate)
    assert repairs(logs) == [], "nothing is stored yet"
    take_turn(services, claim, CLAIM, go_on=False)
    [repair] = repairs(logs)
    assert (repair["was"], repair["now"]) == ("9/judge/40", "1/debater_a/1")
    assert place.sql("SELECT next_round, next_actor, turn_count FROM debates") == [(1, "debater_b", 2)]


def test_a_repair_is_logged_when_a_change_from_outside_has_stored_it(
    services: Services, debate: Debate, place: Place, logs: list[Any]
) -> None:
    damage(place)
    refused = Submission(Seat.PROPOSER, TurnType.CLAIM, "A worker has this seat")
    with pytest.raises(ActionNotAllowed):
        submit(services, OPERATOR, debate.id, refused)
    assert control.start_debate(services, OPERATOR, debate.id).id == debate.id, "it changes nothing"
    assert repairs(logs) == []
    control.pause_debate(services, OPERATOR, debate.id)
    assert len(repairs(logs)) == 1
    assert place.sql("SELECT next_round, turn_count FROM debates") == [(1, 1)]
    damage(place)
    control.resume_debate(services, OPERATOR, debate.id)
    damage(place)
    submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Stay calm"))
    assert len(repairs(logs)) == 3
