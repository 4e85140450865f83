"""What somebody does to a debate between the two statements of a claim is ordinary, and the log says nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from claimed_debates import a_debate, claimed, ensure_lease, take_turn, try_claim
from harness import Place
from structlog.testing import capture_logs

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

CLAIM = Thought(TurnType.CLAIM, "words")
DAMAGE = "UPDATE debates SET next_round = 7, next_actor = 'judge', turn_count = 40"
Log = list[Any]


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


@pytest.fixture
def log() -> Iterator[Log]:
    with capture_logs() as entries:
        yield entries


@pytest.fixture
def debate(services: Services) -> Debate:
    ensure_lease(services)
    return a_debate(services)


def repairs(log: Log) -> Log:
    return [entry for entry in log if entry["event"] == "debate.cursor_repaired"]


def test_a_deletion_is_no_damage(services: Services, debate: Debate, meanwhile: Any, log: Log) -> None:
    meanwhile(lambda: control.delete_debate(services, OPERATOR, debate.id))
    assert try_claim(services, debate.id) is None
    assert [entry for entry in log if entry["log_level"] in ("warning", "error")] == []


def test_a_debate_without_its_motion_is_damaged(services: Services, debate: Debate, place: Place, log: Log) -> None:
    place.sql("DELETE FROM turns")
    assert try_claim(services, debate.id) is None
    assert [entry["event"] for entry in log if entry["log_level"] == "error"] == ["debate.damaged"]


def test_an_intervention_during_a_claim_repairs_nothing(
    services: Services, debate: Debate, place: Place, meanwhile: Any, log: Log
) -> None:
    meanwhile(
        lambda: submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Stay calm"))
    )
    claim = try_claim(services, debate.id)
    if claim is not None:
        take_turn(services, claim, CLAIM, go_on=False)
    assert place.sql("SELECT turn_count, intervention_open FROM debates") == [(2, True)]
    assert repairs(log) == []


def test_the_end_of_a_debate_at_its_limit_repairs_nothing(services: Services, place: Place, log: Log) -> None:
    ensure_lease(services)
    claim: Any = claimed(services, a_debate(services, limits=Limits(max_rounds=3, max_seconds=600)))
    for kind in (TurnType.CLAIM, TurnType.CLAIM, TurnType.RULING):
        claim = take_turn(services, claim, Thought(kind, "words"), go_on=kind is not TurnType.RULING)
    place.sql("UPDATE debates SET deadline_at = clock_timestamp() - interval '1 second'")
    [(debate_id,)] = place.sql("SELECT id FROM debates")
    assert try_claim(services, debate_id) is None
    assert repairs(log) == []


def test_a_repair_is_logged_when_a_worker_has_stored_it(
    services: Services, debate: Debate, place: Place, log: Log
) -> None:
    place.sql(DAMAGE)
    claim = claimed(services, debate)
    assert repairs(log) == [], "nothing is stored yet"
    take_turn(services, claim, CLAIM, go_on=False)
    [repair] = repairs(log)
    assert (repair["was"], repair["now"]) == ("7/judge/40", "1/debater_a/1")


def test_a_repair_is_logged_when_a_change_from_outside_has_stored_it(
    services: Services, debate: Debate, place: Place, log: Log
) -> None:
    place.sql(DAMAGE)
    refused = Submission(Seat.PROPOSER, TurnType.CLAIM, "A worker has this seat")
    with pytest.raises(ActionNotAllowed):
        submit(services, OPERATOR, debate.id, refused)
    assert control.start_debate(services, OPERATOR, debate.id).id == debate.id, "it changes nothing"
    assert repairs(log) == []
    control.pause_debate(services, OPERATOR, debate.id)
    assert len(repairs(log)) == 1
    assert place.sql("SELECT next_round, turn_count FROM debates") == [(1, 1)]
    place.sql(DAMAGE)
    control.resume_debate(services, OPERATOR, debate.id)
    place.sql(DAMAGE)
    submit(services, OPERATOR, debate.id, Submission(Seat.ARBITRATOR, TurnType.INTERVENTION, "Stay calm"))
    assert len(repairs(log)) == 3
