"""`debate prune`: what ended long ago goes, and nothing else."""

import json
import re
from datetime import timedelta

import psycopg
import pytest
from cli_home import Home, assert_one_sentence
from harness import Place, new_debate, wait_until
from situations.debates import change
from situations.deliveries import put_delivery

from app.cli.errors import CommandFailed, Exit
from app.cli.prune import age_of
from app.core.access import OPERATOR
from app.core.debate import ENDED_STATUSES, Status
from app.core.schedules import ROUNDS
from app.http.requests import CreateDebateBody
from app.usecases import maintenance
from app.usecases.create import create_debate
from app.usecases.services import Services

OLD, YOUNG = "100 days", "80 days"


def put(services: Services, place: Place, status: Status, age: str) -> str:
    """A debate that came to this status and was last touched so long ago."""
    debate = create_debate(services, OPERATOR, CreateDebateBody(**new_debate()).new_debate(ROUNDS)).debate
    reason = "max_rounds" if status in (Status.COMPLETED, Status.STOPPED) else None
    change(
        place,
        "status = %s, stop_reason = %s, updated_at = now() - %s::interval",
        status,
        reason,
        age,
        debate_id=debate.id,
    )
    return str(debate.id)


def left(place: Place) -> set[str]:
    return {str(debate_id) for (debate_id,) in place.sql("SELECT id FROM debates")}


def test_only_what_ended_long_ago_goes_and_only_when_told(services: Services, place: Place, configured: Home) -> None:
    kept = {put(services, place, status, YOUNG) for status in Status}
    kept |= {put(services, place, status, OLD) for status in Status if status not in ENDED_STATUSES}
    gone = {put(services, place, status, OLD) for status in sorted(ENDED_STATUSES)}

    shown = configured("prune", "--older-than", "90d")
    assert (shown.process.returncode, shown.stderr) == (0, "")
    name = str(place.settings.database_url).partition("?")[0].rpartition("/")[2]
    # Which database is meant is said first, so that nobody prunes another one.
    assert re.match(rf"Database: postgresql://\S*/{name}\b", shown.stdout), shown.stdout
    assert "3 debates with 3 turns ended" in shown.stdout
    assert "Nothing was deleted. Add --yes to delete them." in shown.stdout
    assert left(place) == kept | gone

    told = json.loads(configured("prune", "--older-than", "90d", "--yes", "--json").stdout)
    assert told.pop("before").endswith("Z")
    assert told == {
        "found": {"debates": 3, "turns": 3},
        "deleted": {"debates": 3, "turns": 3},
        "dry_run": False,
    }
    assert left(place) == kept
    assert place.sql("SELECT count(*) FROM turns") == [(len(kept),)]


def test_it_goes_in_batches_past_what_somebody_holds_and_watchers_are_told(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BATCH", 2)
    old = [put(services, place, Status.COMPLETED, OLD) for _ in range(6)]
    listener = place.redis().pubsub()
    listener.subscribe(*(f"debate:events:{debate_id}" for debate_id in old))
    before, found = maintenance.count_old(services, timedelta(days=90))
    assert found == maintenance.EndedCount(6, 6)
    with psycopg.connect(str(place.settings.database_url)) as somebody:
        somebody.execute("SELECT 1 FROM debates WHERE id = %s FOR UPDATE", [old[3]])
        assert list(maintenance.prune(services, before)) == [
            maintenance.EndedCount(2, 2),
            maintenance.EndedCount(2, 2),
            maintenance.EndedCount(1, 1),
        ]
        # Resumed by a person while it was being looked at: it runs, and stays.
        somebody.execute("UPDATE debates SET status = 'running', stop_reason = NULL WHERE id = %s", [old[3]])
    assert left(place) == {old[3]}
    assert list(maintenance.prune(services, before)) == []

    deleted = set()

    def all_were_told() -> bool:
        message = listener.get_message(ignore_subscribe_messages=True, timeout=0.2)
        if message and json.loads(message["data"])["event"] == "debate_deleted":
            deleted.add(json.loads(message["data"])["data"]["debate_id"])
        return deleted == set(old) - {old[3]}

    wait_until(all_were_told, 60, "every deletion was told")


def test_a_batch_begins_where_the_one_before_it_ended(
    services: Services, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BATCH", 2)
    # In this order, so that the first is the oldest.
    old = [put(services, place, Status.COMPLETED, f"{100 - number} days") for number in range(6)]
    before, _ = maintenance.count_old(services, timedelta(days=90))
    with psycopg.connect(str(place.settings.database_url)) as somebody:
        somebody.execute("SELECT 1 FROM debates WHERE id = %s FOR UPDATE", [old[0]])
        batches = maintenance.prune(services, before)
        assert next(batches) == maintenance.EndedCount(2, 2)
    # Nobody holds it any more, but what lies before the last batch is not read again.
    assert list(batches) == [maintenance.EndedCount(2, 2), maintenance.EndedCount(1, 1)]
    assert left(place) == {old[0]}
    assert list(maintenance.prune(services, before)) == [maintenance.EndedCount(1, 1)]


def test_deliveries_that_nobody_waits_for_go_by_age_and_those_that_are_due_stay(place: Place, configured: Home) -> None:
    # Made so long ago; due since then, if it is; delivered so long ago, if it was.
    gone = {"delivered": (OLD, None, OLD), "given up": (OLD, None, None)}
    kept = {
        "delivered late": (OLD, None, YOUNG),
        "delivered": (YOUNG, None, YOUNG),
        "given up": (YOUNG, None, None),
        "due": (OLD, OLD, None),
        "replayed": (OLD, OLD, OLD),
    }
    names = {}
    for name, times in [*gone.items(), *((f"kept: {name}", times) for name, times in kept.items())]:
        names[put_delivery(place, *times)] = name

    shown = configured("prune", "--older-than", "90d", "--deliveries")
    assert (shown.process.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Database: postgresql://")
    assert "2 deliveries from before" in shown.stdout
    told = json.loads(configured("prune", "--older-than", "90d", "--deliveries", "--yes", "--json").stdout)
    assert (told["found"], told["deleted"]) == ({"deliveries": 2}, {"deliveries": 2})
    left = {names[found] for (found,) in place.sql("SELECT id FROM webhook_deliveries")}
    assert left == {f"kept: {name}" for name in kept}
    both = configured("prune", "--older-than", "90d", "--deliveries", "--exchanges")
    assert_one_sentence(both, 2, "--exchanges and --deliveries cannot be combined")


@pytest.mark.parametrize(("text", "age"), [("90d", timedelta(days=90)), ("12h", timedelta(hours=12))])
def test_an_age_is_a_number_of_days_or_hours(text: str, age: timedelta) -> None:
    assert age_of(text) == age


@pytest.mark.parametrize("text", ["", "90", "d", "0d", "-1d", "1.5d", "90D", "3 months", "9999999d"])
def test_anything_else_is_no_age(text: str) -> None:
    with pytest.raises(CommandFailed) as refusal:
        age_of(text)
    assert refusal.value.exit_code is Exit.USAGE


def test_without_a_database_the_command_says_so_and_nothing_goes(configured: Home) -> None:
    away = configured("prune", "--older-than", "90d", DEBATE_DATABASE_URL="postgresql://debate@127.0.0.1:9/debate")
    assert_one_sentence(away, 1, "The database is unavailable")
