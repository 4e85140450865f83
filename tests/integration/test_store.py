"""What the database itself guards, and that migrations and models say the same."""

import threading

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from claimed_debates import a_debate
from harness import Place, numbers
from situations.debates import damage_cursor

from app.core.debate import Status
from app.store.engine import make_migration_engine
from app.store.experiments import tables as _experiments  # noqa: F401 (adds its tables)
from app.store.migrate import current_revision, newest_revision, upgrade
from app.store.solutions.tables import metadata
from app.usecases import read
from app.usecases.maintenance import repair
from app.usecases.services import Services


def test_models_and_migrations_do_not_drift(place: Place) -> None:
    with make_migration_engine(str(place.settings.database_url)).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        constraints = "SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
        migrated = {row[0] for row in place.sql(constraints)}
    # compare_metadata does not look at CHECK constraints.
    declared = {str(rule.name) for table in metadata.tables.values() for rule in table.constraints if rule.name}
    assert declared <= migrated


def test_two_processes_that_migrate_together_are_safe(place: Place) -> None:
    name = f"empty_{next(numbers)}"
    place.sql(f"CREATE DATABASE {name} TEMPLATE template0")
    url = str(place.settings.database_url).replace(
        f"/{place.settings.database_url.split('/')[3].split('?')[0]}?", f"/{name}?"
    )
    results: list[tuple[str | None, str | None]] = []
    threads = [threading.Thread(target=lambda: results.append(upgrade(url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = newest_revision()
    assert sorted(results, key=str) == sorted([(None, newest)] + 3 * [(newest, newest)], key=str)
    assert current_revision(url) == newest


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE debates SET status = 'lost'", "debates_status_known"),
        ("UPDATE debates SET format = 'chess'", "debates_format_known"),
        ("UPDATE debates SET next_actor = 'audience'", "debates_next_actor_known"),
        ("UPDATE debates SET next_round = 0", "debates_next_round_positive"),
        ("UPDATE debates SET status = 'completed'", "debates_closed_has_reason"),
        ("UPDATE turns SET actor = 'audience'", "turns_actor_known"),
        ("UPDATE turns SET type = 'SHOUT'", "turns_type_known"),
        ("UPDATE turns SET round = NULL", "turns_outside_the_order"),
        ("UPDATE turns SET seq = 0", "turns_seq_positive"),
    ],
)
def test_the_database_refuses_what_the_core_never_says(
    services: Services, place: Place, statement: str, constraint: str
) -> None:
    a_debate(services)
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        place.sql(statement)
    assert refusal.value.diag.constraint_name == constraint


def test_a_repaired_debate_that_runs_is_looked_at_by_a_worker(services: Services, place: Place) -> None:
    debate = a_debate(services)
    damage_cursor(place)
    [row] = repair(services)
    assert (row.debate_id, row.was) == (debate.id, "round 9, judge, 1 turns")
    assert row.now == "round 1, debater_a, 1 turns"
    assert place.sql("SELECT due_at <= now() FROM debates") == [(True,)]
    assert read.get_transcript(services, debate.id, 0).debate.status is Status.CREATED
