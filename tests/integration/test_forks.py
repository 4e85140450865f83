"""A fork copies turns and goes on with other players; nobody is asked again for what is copied."""

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from claimed_debates import a_debate, claimed, take_turn
from harness import Place, assert_all_is_well

from app.core.access import OPERATOR, Agent, Scope
from app.core.brief import Thought
from app.core.debate import Debate, Limits, Origin, Status, TurnType, Usage
from app.core.errors import DebateNotFound, Forbidden, InvalidInput, RequestIdReused
from app.core.material import Material
from app.core.players import SeatSetup
from app.core.schedules import FINAL_RULING
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.usecases import control, read
from app.usecases.agents import create_agent
from app.usecases.documents import NewMaterial
from app.usecases.fork import NewFork, fork_debate
from app.usecases.identity import identify
from app.usecases.seats import take_seat
from app.usecases.services import Services

CLAIM = Thought(TurnType.CLAIM, "words", usage=Usage(30, 12, 0.25, 1400))
RULING = Thought(TurnType.RULING, "so", Verdict("opponent", {"proposer": 4, "opponent": 8}, "because"))


def held(services: Services, *thoughts: Thought, **changes: Any) -> Debate:
    debate = a_debate(services, **changes)
    claim = claimed(services, debate)
    for thought in thoughts:
        assert claim is not None
        claim = take_turn(services, claim, thought)
    return read.get_transcript(services, debate.id, 0).debate


def forked(services: Services, source: UUID, after_seq: int, **changes: Any) -> Debate:
    new = NewFork(after_seq, changes.pop("client_request_id", str(uuid4())), **changes)
    return fork_debate(services, OPERATOR, source, new).debate


@pytest.mark.parametrize(
    ("thoughts", "rounds", "changes", "says"),
    [
        ([CLAIM], 3, {"after_seq": 3}, "after_seq: the debate has 2 turns"),
        ([CLAIM, CLAIM, RULING], 1, {"limits": Limits(max_rounds=5)}, "after_seq: turn 4 closed the debate"),
        ([CLAIM, CLAIM, RULING, CLAIM], 3, {"limits": Limits(max_rounds=1)}, "max_rounds: all 1 rounds were finished"),
        ([CLAIM], 3, {"seats": {Seat.OPPONENT: SeatSetup("nobody")}}, "seats.opponent.player: unknown player"),
    ],
)
def test_a_fork_that_could_not_go_on_is_refused(
    services: Services, thoughts: list[Thought], rounds: int, changes: dict[str, Any], says: str
) -> None:
    source = held(services, *thoughts, limits=Limits(max_rounds=rounds))
    with pytest.raises(InvalidInput, match=re.escape(says)):
        forked(services, source.id, **{"after_seq": len(thoughts) + 1, **changes})


def test_a_fork_has_the_same_turns_and_nothing_of_their_cost(services: Services, place: Place) -> None:
    source = held(services, CLAIM, CLAIM, RULING, CLAIM)
    fork = forked(services, source.id, 4, seats={Seat.OPPONENT: SeatSetup("external")})
    assert (fork.status, fork.cursor.round, fork.cursor.seat) == (Status.CREATED, 2, Seat.PROPOSER)
    assert fork.forked_from == Origin(source.id, 4)
    assert (fork.usage.cost_usd, fork.usage.total_tokens) == (0, 0)
    assert fork.standing is not None
    assert (fork.standing.rounds, fork.standing.leader) == (1, "opponent")
    old = read.get_transcript(services, source.id, None)
    new = read.get_transcript(services, fork.id, None)
    olds, news = [old.motion, *old.arguments][:4], [new.motion, *new.arguments]
    said = [(turn.seq, turn.round, turn.seat, turn.type, turn.content, turn.player, turn.verdict) for turn in olds]
    assert [(t.seq, t.round, t.seat, t.type, t.content, t.player, t.verdict) for t in news] == said
    assert {turn.id for turn in olds} & {turn.id for turn in news} == set()
    assert [turn.parent_id for turn in news] == [None, *(turn.id for turn in news[:-1])]
    assert [(turn.usage, turn.client_request_id) for turn in news] == 4 * [(None, None)]
    assert new.debate.seats[Seat.OPPONENT].player == "external"
    assert new.debate.seats[Seat.PROPOSER] == source.seats[Seat.PROPOSER]
    # The next one that is asked is the proposer of round 2, and the source is as it was.
    assert claimed(services, fork).brief.turns[-1].content == "so"
    assert read.get_transcript(services, source.id, 0).debate == source


def test_the_cursor_follows_the_forks_own_limit_of_rounds(services: Services) -> None:
    source = held(services, CLAIM, CLAIM, schedule=FINAL_RULING, limits=Limits(max_rounds=1))
    assert source.cursor.seat is Seat.ARBITRATOR
    assert forked(services, source.id, 3).cursor.seat is Seat.ARBITRATOR
    longer = forked(services, source.id, 3, limits=Limits(max_rounds=2))
    assert (longer.cursor.round, longer.cursor.seat) == (2, Seat.PROPOSER)


def test_a_stopped_debate_is_forked_after_its_last_turn_and_goes_on(services: Services, place: Place) -> None:
    source = held(services, CLAIM, CLAIM, RULING)
    control.stop_debate(services, OPERATOR, source.id, None)
    fork = forked(services, source.id, 4)
    claim = claimed(services, fork)
    for thought in (CLAIM, CLAIM, RULING, CLAIM, CLAIM, RULING):
        assert claim is not None
        claim = take_turn(services, claim, thought)
    ended = read.get_transcript(services, fork.id, None)
    assert ended.debate.status is Status.COMPLETED
    assert ended.debate.usage.cost_usd == 1.0
    assert_all_is_well(place)


def test_a_repeated_request_makes_one_fork_and_another_request_is_refused(services: Services, place: Place) -> None:
    source = held(services, CLAIM)
    new = NewFork(2, "again", {Seat.OPPONENT: SeatSetup("external")})
    first = fork_debate(services, OPERATOR, source.id, new)
    second = fork_debate(services, OPERATOR, source.id, new)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.debate.id == second.debate.id
    for other in (NewFork(1, "again"), NewFork(2, "again", {Seat.OPPONENT: SeatSetup("scripted")})):
        with pytest.raises(RequestIdReused):
            fork_debate(services, OPERATOR, source.id, other)
    assert place.sql("SELECT count(*) FROM debates") == [(2,)]
    assert place.sql("SELECT count(*) FROM turns") == [(4,)]


def test_a_fork_outlives_the_debate_that_it_came_from(services: Services) -> None:
    source = held(services, CLAIM, CLAIM)
    fork = forked(services, source.id, 3)
    control.delete_debate(services, OPERATOR, source.id)
    assert len(read.get_transcript(services, fork.id, None).arguments) == 2
    with pytest.raises(DebateNotFound):
        forked(services, source.id, 2)


AGENT = Agent(uuid4(), "stranger", frozenset({Scope.READ, Scope.DEBATE}))
QUESTION = NewMaterial("The code is 4711.", (Seat.PROPOSER,), {"proposer": "Yes.", "opponent": "No."}, "opponent")


def by_an_agent(services: Services, source: UUID, *scopes: Scope, holds: Seat | None = None) -> Debate:
    _, key = create_agent(services, OPERATOR, f"forker-{uuid4().hex[:8]}", None, scopes)
    agent = identify(services, key.secret)
    if holds is not None:
        take_seat(services, agent, source, holds)
    return fork_debate(services, agent, source, NewFork(1, str(uuid4()))).debate


def test_a_fork_requires_the_scope_that_reads(services: Services) -> None:
    source = held(services, CLAIM)
    with pytest.raises(Forbidden) as refusal:
        by_an_agent(services, source.id, Scope.DEBATE)
    assert refusal.value.context == {"required_scope": "read"}
    assert by_an_agent(services, source.id, Scope.READ, Scope.DEBATE).forked_from == Origin(source.id, 1)


def test_while_the_source_is_open_only_the_operators_fork_has_its_document_and_which_answer_is_correct(
    services: Services,
) -> None:
    source = a_debate(services, material=QUESTION, seats={Seat.PROPOSER: SeatSetup("external")})
    for holds in (None, Seat.PROPOSER):
        fork = by_an_agent(services, source.id, Scope.READ, Scope.DEBATE, holds=holds)
        assert fork.material == Material(answers=QUESTION.answers)
        closed = control.stop_debate(services, OPERATOR, fork.id, None)
        assert read.document_for(services, AGENT, closed) is None
    assert forked(services, source.id, 1).material == source.material
    control.stop_debate(services, OPERATOR, source.id, None)
    fork = by_an_agent(services, source.id, Scope.READ, Scope.DEBATE)
    assert fork.material == source.material


def test_a_fork_of_an_open_debate_with_a_document_alone_has_no_material(services: Services) -> None:
    source = a_debate(services, material=NewMaterial("The code is 4711."))
    assert by_an_agent(services, source.id, Scope.READ, Scope.DEBATE).material is None
