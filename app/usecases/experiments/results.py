"""Results of an experiment, and its rows for a download."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.core.errors import InvalidInput
from app.core.experiments.extension import setup_of
from app.core.prompt_sets import BASE, BUILT_IN
from app.core.verdicts import SIDES
from app.models.table import has_price
from app.statistics.contestant_results import Control
from app.statistics.costs import Spending
from app.statistics.results import results
from app.statistics.rows import NOBODY, JudgmentRow, Outcome, player_named
from app.store.experiments import experiments, export, feed
from app.store.experiments.experiments import Experiment, Progress
from app.usecases.experiments.manage import existing
from app.usecases.read import snapshot
from app.usecases.services import Services
from app.wire.experiments import cost_of

Row = Mapping[str, Any]
_PROPOSER, _OPPONENT, _ARM, _PLAYERS = (
    JudgmentRow._fields.index(name) for name in ("proposer", "opponent", "arm", "proposer_player")
)


_UNKNOWN = {
    "rests_on": "Formats, models, prompts and personas are unknown, because the judgments were made elsewhere and "
    "imported. So are the times of the first and the last judgment, unless the imported file has all of them.",
    "costs": "The costs are unknown, because the judgments were made elsewhere and imported.",
}


def results_of_experiment(
    services: Services, experiment_id: UUID, outcome: Outcome = "winner", control: Control | None = None
) -> dict[str, Any]:
    """Cached until the data that they are computed from changes; others' judgments of its debates are only counted."""
    with services.engine.statements() as connection:
        state = export.state(connection, experiment_id)
        others = export.count_by_others(connection, experiment_id)
    asked = (experiment_id, outcome, control)
    known = services.results.get(asked)
    if known is not None and known[0] == state:
        return {**known[1], "other_judgments": others}
    with snapshot(services) as connection:
        experiment = existing(connection, experiment_id)
        state = export.state(connection, experiment_id)
        spent, failed = export.spent(connection, experiment_id), export.failed(connection, experiment_id)
        progress = experiments.progress(connection, [experiment_id])[experiment_id]
        named = feed.prompts_hashes(connection, experiment_id, experiment.spec.prompt_sets)
        prompts = _versions(experiment, named, export.prompts_used(connection, experiment_id))
        # The last, because a hundred thousand take seconds to be read: Postgres ends a transaction that rests so long.
        between = export.judged_between(connection, experiment_id)
        rows = export.judgment_rows(connection, experiment_id)
    players = _players(experiment)

    def computed() -> dict[str, Any]:
        return results(
            _judgments(rows, players),
            contestants=list(players),
            spent=None if experiment.imported else _spending(spent, failed),
            total_usd=cost_of(experiment, progress),
            missing=_missing(progress),
            rests_on=_rests_on(experiment, between, prompts),
            unknown=_UNKNOWN if experiment.imported else None,
            seed=experiment.spec.seed,
            outcome=outcome,
            control=control,
            contrasts=experiment.spec.contrasts,
        )

    # Only what is pure runs aside: a connection of the pool must not cross threads.
    found = services.run_aside(computed)
    services.results[asked] = (state, found)
    return {**found, "other_judgments": others}


def _spending(
    spent: list[tuple[Any, ...]], failed: Mapping[tuple[str, str | None], Mapping[str, int]]
) -> list[Spending]:
    """Includes contestants and judges that have only failed so far."""
    silent = [(*who, 0, 0.0, 0, 0, None, None) for who in failed if who not in {(row[0], row[1]) for row in spent}]
    return [
        Spending(
            role,
            name or NOBODY,
            calls,
            (cost or 0.0) if player is None or has_price(player) or not (read or said) else None,
            read or 0,
            said or 0,
            seconds,
            failed.get((role, name), {}),
        )
        for role, name, calls, cost, read, said, seconds, player in [*spent, *silent]
    ]


def compared(services: Services, first_id: UUID, second_id: UUID) -> tuple[list[Experiment], dict[str, Any]]:
    if first_id == second_id:
        raise InvalidInput("with", "these are the same experiment twice")
    with snapshot(services) as connection:
        both = [existing(connection, one) for one in (first_id, second_id)]
        rows = [export.judgment_rows(connection, one.id) for one in both]
    names = [one.name for one in both]
    arms = names if names[0] != names[1] else [f"{one.name} ({str(one.id)[:8]})" for one in both]

    def computed() -> dict[str, Any]:
        pairs = zip(arms, rows, strict=True)
        return results([one for arm, of_one in pairs for one in _judgments(of_one, {}, arm)])

    return both, services.run_aside(computed)


def _players(experiment: Experiment) -> dict[str, str]:
    if experiment.imported:
        return {one.name: player_named(one.name) for one in experiment.spec.contestants}
    return {one.name: one.player for one in experiment.spec.contestants}


def _judgments(
    rows: Sequence[tuple[Any, ...]], players: Mapping[str, str], arm: str | None = None
) -> list[tuple[Any, ...]]:
    """Rows of `export.judgment_rows` as `JudgmentRow`s. By columns, because there may be a hundred thousand rows."""
    if not rows:
        return []
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    columns[_PROPOSER] = [name or NOBODY for name in columns[_PROPOSER]]
    if arm is not None:
        columns[_ARM] = [arm] * len(rows)
    of = players.get
    columns[_PLAYERS:_PLAYERS] = [[of(name, "") for name in columns[side]] for side in (_PROPOSER, _OPPONENT)]
    return list(zip(*columns, strict=True))


def _missing(progress: Progress) -> dict[str, Any]:
    return {
        kind: {name: getattr(counts, name) for name in ("planned", "running", "failed")}
        for kind, counts in (("matches", progress.matches), ("judgments", progress.judgments))
    }


def _rests_on(
    experiment: Experiment, judged: tuple[datetime | None, datetime | None], prompts: Sequence[str]
) -> dict[str, Any]:
    first, last = judged
    times = {
        "first_judgment_at": first.isoformat() if first else None,
        "last_judgment_at": last.isoformat() if last else None,
    }
    if experiment.imported:
        return {"formats": None, "models": None, "prompts": None, "personas": None, **times}
    return {
        "formats": sorted({arm.schedule.name for arm in experiment.spec.arms}),
        "models": sorted({*experiment.spec.players.values(), experiment.arbitrator.player}),
        "prompts": list(prompts),
        "personas": {one.name: setup_of(one).persona for one in experiment.spec.contestants if setup_of(one).persona},
        **times,
    }


def _versions(experiment: Experiment, named: Mapping[str, str], used: Collection[str]) -> list[str]:
    """What models are instructed with: versions of the built-in prompts, and names of custom ones with the beginning of
    their hash. Where an experiment continued after an upgrade there may be two."""
    custom = {hash_: f"{name} ({hash_[:12]})" for name, hash_ in named.items()}
    known = {hash_: version for version, hash_ in BUILT_IN.items()} | custom
    planned = [named.get(arm.prompts, "") if arm.prompts else BUILT_IN[BASE] for arm in experiment.spec.arms]
    return sorted({known.get(hash_, hash_[:12]) for hash_ in used or planned})


_STATUSES = {
    "judgments": ("completed",),
    "turns": ("completed", "failed"),
    "debates": ("completed", "failed", "running"),
}


def exported(services: Services, experiment_id: UUID, what: str) -> Iterator[list[Row]]:
    """Pages of rows, read as they are consumed; at least one, which may be empty."""
    with services.engine.statements() as connection:
        experiment = existing(connection, experiment_id)
    return _pages(services, experiment, what)


def _pages(services: Services, experiment: Experiment, what: str) -> Iterator[list[Row]]:
    players = _players(experiment) if what == "judgments" else {}
    for status in _STATUSES[what]:
        after: int | None = 0
        while after is not None:
            with services.engine.statements() as connection:
                debate_ids, after = export.debates_after(connection, experiment.id, status, after)
                page = export.rows_of(connection, what, debate_ids) if debate_ids else []
            if page:
                rows = [_with_players(row, players) for row in page] if what == "judgments" else page
                yield [_with_known_cost(row, experiment.imported) for row in rows]


def _with_players(row: Row, players: Mapping[str, str]) -> Row:
    return {**row, **{f"{side}_player": players.get(row[side]) or None for side in SIDES}}


def _with_known_cost(row: Row, is_imported: bool) -> Row:
    """The cost of a player without a known price is unknown, and not 0. An import states the costs of its judgments."""
    players = row.get("players") or [row["player"]]
    shown = {name: value for name, value in row.items() if name != "players"}
    was_called = not is_imported and (row.get("input_tokens", 1) or row.get("output_tokens"))
    return {**shown, "cost_usd": None} if was_called and not all(map(has_price, players)) else shown
