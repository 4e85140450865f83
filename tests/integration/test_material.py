"""Documents and answers: who sees them, what is stored of them, and which quotes are found in them."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from claimed_debates import a_debate, claimed, take_turn
from harness import Api, Place, new_debate
from situations import debates, materials
from test_api_envelope import data_of, refusal_of

from app.core.access import OPERATOR, Agent, Scope, may_read_document
from app.core.brief import Thought
from app.core.debate import TurnType
from app.core.players import JudgeOrder, SeatSetup
from app.core.schedules import DIALOGUE
from app.core.seats import Seat
from app.core.verdicts import Verdict
from app.usecases import control, maintenance, read
from app.usecases.documents import NewMaterial
from app.usecases.fork import NewFork, fork_debate
from app.usecases.services import Services
from app.usecases.submit import Submission, submit
from worker.players.models.prompt import document, instructions, task
from worker.players.scripted.player import ScriptedPlayer

DOCUMENT = "The mill at Ashford closed in 1987. A year later the Greens bought it. Nobody knows why they did so."
ANSWERS = {"proposer": "The Greens own the mill", "opponent": "Nobody owns the mill"}
MATERIAL = NewMaterial(DOCUMENT, None, ANSWERS, "proposer")
DAY = 86_400
RULING = Thought(TurnType.RULING, "so", Verdict("proposer", {"proposer": 8, "opponent": 4}, "because"))


def documents(place: Place) -> list[str]:
    """Those that are stored."""
    return sorted(text for (text,) in place.sql("SELECT document FROM materials"))


def said(content: str) -> Thought:
    return Thought(TurnType.CLAIM, content)


@pytest.mark.parametrize(
    ("material", "field"),
    [
        ({"document": " "}, "material.document"),
        ({"document": "a\u0000b"}, "material.document"),
        ({"document": 7}, "material.document"),
        ({"visible_to": ["proposer"]}, "material.visible_to"),
        ({"document": "words", "visible_to": []}, "material.visible_to"),
        ({"document": "words", "visible_to": ["audience"]}, "material.visible_to"),
        ({"answers": {"proposer": "yes"}}, "material.answers.opponent"),
        ({"answers": {"proposer": "yes", "opponent": ""}}, "material.answers.opponent"),
        ({"correct": "arbitrator"}, "material.correct"),
        ({"documents": "words"}, "material.documents"),
    ],
)
def test_material_that_makes_no_sense_is_refused(api: Api, material: dict[str, Any], field: str) -> None:
    error = refusal_of(api.http.post("/debates", json=new_debate(material=material)), "INVALID_INPUT")
    assert error["field"].startswith(field)


def test_a_document_may_be_much_larger_than_a_text_but_not_without_end(api: Api, module_place: Place) -> None:
    largest = "ä" * (module_place.settings.max_document_length // 2)
    body = new_debate(material={"document": largest})
    created = data_of(
        api.http.post("/debates", content=json.dumps(body), headers={"Content-Type": "application/json"}), 201
    )
    assert created["debate"]["material"]["document_bytes"] == module_place.settings.max_document_length
    error = refusal_of(
        api.http.post("/debates", json=new_debate(material={"document": largest + "a"})), "CONTENT_TOO_LARGE"
    )
    assert error["max_length"] == module_place.settings.max_document_length
    other = api.http.post(f"/debates/{created['debate']['id']}/stop", json={"reason": largest})
    refusal_of(other, "CONTENT_TOO_LARGE")


def test_a_document_is_stored_once_and_deleted_with_the_last_debate_that_has_it(
    services: Services, place: Place
) -> None:
    first, second = (a_debate(services, material=MATERIAL) for _ in range(2))
    fork = fork_debate(services, OPERATOR, first.id, NewFork(1, "fork")).debate
    assert fork.material == first.material
    assert documents(place) == [DOCUMENT]
    for left in (first, second):
        control.delete_debate(services, OPERATOR, left.id)
        assert documents(place) == [DOCUMENT]
    control.delete_debate(services, OPERATOR, fork.id)
    assert documents(place) == []


COUNTED_TRANSACTIONS = """
CREATE TABLE deleted_documents (hash bytea, transaction xid8);
CREATE FUNCTION count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO deleted_documents VALUES (OLD.hash, pg_current_xact_id());
    RETURN OLD;
END $$;
CREATE TRIGGER counted BEFORE DELETE ON materials FOR EACH ROW EXECUTE FUNCTION count_deleted()
"""


def test_pruning_deletes_the_documents_that_no_debate_has(services: Services, place: Place) -> None:
    debate = a_debate(services, material=MATERIAL)
    control.stop_debate(services, OPERATOR, debate.id, None)
    debates.age(place, 9 * DAY)
    week_ago = datetime.now(UTC) - timedelta(days=7)
    assert sum(batch.debates for batch in maintenance.prune(services, week_ago)) == 1
    # A creation that stored it may be under way.
    assert documents(place) == [DOCUMENT]
    materials.age(place)
    assert list(maintenance.prune(services, week_ago)) == []
    assert documents(place) == []


def test_documents_are_pruned_in_batches_past_those_that_a_debate_has(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BATCH", 2)
    made = [a_debate(services, material=replace(MATERIAL, document=f"Document {number}.")) for number in range(7)]
    kept = {made[number].id for number in (1, 4)}
    materials.abandon(place, list(kept))
    materials.age(place)
    place.sql(COUNTED_TRANSACTIONS)
    week_ago = datetime.now(UTC) - timedelta(days=7)
    assert list(maintenance.prune(services, week_ago)) == []
    assert documents(place) == ["Document 1.", "Document 4."]
    deleted = place.sql("SELECT count(*) FROM deleted_documents GROUP BY transaction")
    assert sum(count for (count,) in deleted) == 5
    assert max(count for (count,) in deleted) <= 2


def test_the_correct_answer_and_the_hash_of_the_document_are_shown_when_the_debate_is_closed(api: Api) -> None:
    material = {"document": DOCUMENT, "answers": ANSWERS, "correct": "opponent"}
    body = new_debate(format="dialogue", material=material)
    created = data_of(api.http.post("/debates", json=body), 201)["debate"]
    assert (created["material"]["correct"], created["material"]["document_hash"]) == (None, None)
    read_ = data_of(api.http.get(f"/debates/{created['id']}"))["debate"]["material"]
    assert (read_["document"], read_["answers"], read_["correct"]) == (DOCUMENT, ANSWERS, None)
    assert read_["visible_to"] == ["proposer", "opponent"]
    [listed] = data_of(api.http.get("/debates", params={"limit": 1}))["debates"]
    assert listed["material"] == created["material"]
    assert listed["material"]["document"] is None
    exported = api.http.get(f"/debates/{created['id']}/export").json()["debate"]["material"]
    assert (exported["correct"], exported["document_hash"]) == (None, None)
    closed = data_of(api.http.post(f"/debates/{created['id']}/stop"))["debate"]["material"]
    assert (closed["correct"], closed["document_hash"]) == ("opponent", sha256(DOCUMENT.encode()).hexdigest())
    again = api.http.post("/debates", json=body)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    other = {**body, "material": {**material, "document": DOCUMENT + " Really."}}
    refusal_of(api.http.post("/debates", json=other), "REQUEST_ID_REUSED")


def test_an_agent_reads_the_document_from_a_seat_that_is_shown_it(services: Services) -> None:
    agent = Agent(uuid4(), "reader", frozenset({Scope.READ}))
    debate = a_debate(services, material=MATERIAL)
    assert not may_read_document(agent, debate)
    for seat, sees in ((Seat.PROPOSER, True), (Seat.OPPONENT, True), (Seat.ARBITRATOR, False)):
        seats = {**debate.seats, seat: debate.seats[seat].__class__("external", agent_id=str(agent.id))}
        assert may_read_document(agent, debate.evolve(seats=seats)) is sees
    closed = control.stop_debate(services, OPERATOR, debate.id, None)
    assert may_read_document(agent, closed)
    assert not may_read_document(agent, a_debate(services))


def test_quotes_of_players_are_looked_up_and_those_of_a_judge_are_not(services: Services) -> None:
    debate = a_debate(services, material=MATERIAL)
    claim = claimed(services, debate)
    for thought in (
        said("<quote>ashford CLOSED</quote> <quote>the mill burned</quote>"),
        said("Nothing to quote."),
        Thought(TurnType.RULING, "<quote>closed in 1987</quote>", RULING.verdict),
    ):
        assert claim is not None
        claim = take_turn(services, claim, thought)
    first, second, third = read.get_transcript(services, debate.id, None).arguments
    assert [tuple(quote) for quote in first.quotes] == [("ashford CLOSED", True), ("the mill burned", False)]
    assert second.quotes == third.quotes == ()


def test_quotes_of_a_seat_that_is_not_shown_the_document_tell_nothing_about_it(services: Services) -> None:
    seats = {Seat.OPPONENT: SeatSetup("external"), Seat.PROPOSER: SeatSetup("scripted")}
    debate = a_debate(services, material=NewMaterial(DOCUMENT, (Seat.PROPOSER,)), schedule=DIALOGUE, seats=seats)
    guess = "<quote>closed in 1987</quote> <quote>closed in 1988</quote>"
    submit(services, OPERATOR, debate.id, Submission(Seat.OPPONENT, TurnType.CLAIM, guess))
    claim = claimed(services, debate)
    take_turn(services, claim, said("<quote>closed in 1987</quote>"))
    guessed, quoted = read.get_transcript(services, debate.id, None).arguments
    assert guessed.quotes == ()
    assert [quote.verified for quote in quoted.quotes] == [True]


def test_quotes_of_agents_are_looked_up_where_there_is_a_document(api: Api) -> None:
    content = "<quote>closed in 1987</quote> and <quote>in 1988</quote>"
    for material, quotes in (
        (
            {"document": DOCUMENT},
            [{"text": "closed in 1987", "verified": True}, {"text": "in 1988", "verified": False}],
        ),
        (None, []),
    ):
        created = data_of(api.http.post("/debates", json=new_debate(format="dialogue", material=material)), 201)
        argument = {
            "role": "opponent",
            "target_id": created["argument"]["id"],
            "content": content,
            "client_request_id": "quoted",
        }
        path = f"/debates/{created['debate']['id']}"
        assert data_of(api.http.post(f"{path}/arguments", json=argument), 201)["argument"]["quotes"] == quotes
        assert data_of(api.http.get(path))["arguments"][0]["quotes"] == quotes
        page = api.http.get(f"{path}/view", headers={"Accept": "text/html"}).text
        assert [words for words in ("✓ in the document", "✗ not in the document") if words in page] == [
            "✓ in the document" if quote["verified"] else "✗ not in the document" for quote in quotes
        ]


def test_models_are_shown_the_document_in_the_seats_that_see_it_and_never_the_correct_answer(
    services: Services,
) -> None:
    debate = a_debate(services, material=MATERIAL)
    claim = claimed(services, debate)
    shown: dict[Seat, tuple[str, dict[str, Any]]] = {}
    for thought in (said("<quote>closed in 1987</quote><quote>burned</quote>"), said("No."), RULING):
        assert claim is not None
        told = document(claim.brief, 16_000, JudgeOrder.AS_SPOKEN).text
        shown[claim.brief.seat] = instructions(claim.brief) + task(claim.brief, 1_000), json.loads(told)
        claim = take_turn(services, claim, thought)
    for seat in (Seat.PROPOSER, Seat.OPPONENT):
        told, sent = shown[seat]
        assert sent["document"] == DOCUMENT
        assert "they put its exact words" in told
        assert sent["answers"] == ANSWERS
    told, sent = shown[Seat.ARBITRATOR]
    assert sent["answers"] == {"A": ANSWERS["proposer"], "B": ANSWERS["opponent"]}
    assert "document" not in sent
    assert "You are not shown the document" in told
    assert sent["turns"][0]["quotes"] == [
        {"text": "closed in 1987", "verified": True},
        {"text": "burned", "verified": False},
    ]
    for told, sent in shown.values():
        assert "two answers" in told
        assert "correct" not in json.dumps(sent)


def test_a_document_that_does_not_fit_is_shortened_and_says_so(services: Services) -> None:
    long = "The mill closed. " * 5_000
    claim = claimed(services, a_debate(services, material=NewMaterial(long)))
    sent = json.loads(document(claim.brief, 2_000).text)
    assert sent["document_shortened"] is True
    assert 0 < len(sent["document"]) <= 3_000
    assert long.startswith(sent["document"])


def test_the_scripted_player_quotes_what_it_is_shown(services: Services) -> None:
    for visible_to, quotes in (((Seat.PROPOSER,), 1), ((Seat.OPPONENT,), 0)):
        claim = claimed(services, a_debate(services, material=NewMaterial(DOCUMENT, visible_to)))
        take_turn(services, claim, asyncio.run(ScriptedPlayer().think(claim.brief)))
        [turn] = read.get_transcript(services, claim.debate.id, None).arguments
        assert [quote.verified for quote in turn.quotes] == quotes * [True]
