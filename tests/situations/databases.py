"""Databases in situations: with a year's debates, with statistics."""

from harness import Place, wait_until

from scripts.benchmarks import filling

FILLED = ("debates", "debate_titles", "indexed_turns", "turns")
_NOT_ANALYZED = "SELECT relname FROM pg_stat_user_tables WHERE relname = ANY(%s) AND last_autoanalyze IS NULL"


def fill_with_a_year(place: Place, debates: int) -> None:
    """Debates of every status with turns, titles and indexed words. The statistics stay as they are."""
    filling.insert(place.settings, debates, filling.MIXED)


def hurry_autovacuum(place: Place) -> None:
    """It does within seconds what takes minutes by default. For a server of the test's own."""
    for setting, value in (("autovacuum_naptime", 1), ("autovacuum_vacuum_cost_delay", 0)):
        place.sql(f"ALTER SYSTEM SET {setting} = {value}")
    place.sql("SELECT pg_reload_conf()")


def wait_for_autovacuum(place: Place) -> None:
    """Until it has analyzed the tables that `fill_with_a_year` fills."""
    wait_until(lambda: place.sql(_NOT_ANALYZED, list(FILLED)) == [], 90, "autovacuum has analyzed the tables")
