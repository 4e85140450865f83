"""Imports judgments from elsewhere as an experiment, so that its results can be computed here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from app.core.access import Action, Caller, holder_id, require
from app.core.errors import Conflict, InvalidInput
from app.core.experiments.imported import ImportedJudgment
from app.core.experiments.spec import Spec, spec_of
from app.core.judgments import kind_in_name
from app.core.players import EXTERNAL, SCRIPTED, SeatSetup
from app.core.schedules import CONSULTANCY, DIRECT, FINAL_RULING
from app.core.verdicts import Verdict
from app.store.experiments import experiments, imports
from app.store.ids import new_debate_id, new_id
from app.store.rows import verdict_row
from app.usecases.experiments.manage import parsed
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
ROWS_AT_ONCE = 5_000
"""In one statement: sending more keeps other requests waiting."""
FIRST_LINE = 2


@dataclass(frozen=True, slots=True)
class _Import:
    stated: dict[str, Any]
    spec: Spec
    motions: list[dict[str, Any]]
    debates: list[dict[str, Any]]
    judgments: list[dict[str, Any]]


@repeated_on_conflict
def import_rows(services: Services, caller: Caller, name: str, given: Sequence[ImportedJudgment]) -> UUID:
    require(caller, Action.EXPERIMENT)
    new = services.run_aside(lambda: _prepared(name, given))
    experiment_id = new_id()
    with transaction(services, caller) as connection:
        if not experiments.add(connection, experiment_id, new.stated, new.spec, SeatSetup(EXTERNAL), holder_id(caller)):
            raise Conflict(f"There is an experiment named {name!r} already", suggestion="Give another name")
        for kind, rows in (("motions", new.motions), ("debates", new.debates), ("judgments", new.judgments)):
            for part in _batched(rows):
                imports.add(connection, experiment_id, kind, services.run_aside(partial(imports.packed, part)))
        experiments.mark_imported(connection, experiment_id)
    log.info("experiment.imported", experiment_id=str(experiment_id), judgments=len(given), by=caller.name)
    return experiment_id


def _prepared(name: str, given: Sequence[ImportedJudgment]) -> _Import:
    debates = _debates(given)
    stated = _stated(name, given)
    ids = {debate: row["debate_id"] for debate, row in debates.items()}
    # Names are kept as they are in the file, also those that a spec may not give.
    return _Import(stated, parsed(stated, spec_of), _motions(given), list(debates.values()), _judgments(given, ids))


def _batched(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    return (rows[first : first + ROWS_AT_ONCE] for first in range(0, len(rows), ROWS_AT_ONCE))


def _stated(name: str, given: Sequence[ImportedJudgment]) -> dict[str, Any]:
    """Who the contestants are is not known here: only their names count."""
    names = sorted({side for row in given for side in (row.proposer, row.opponent) if side})
    if not names:
        return {"name": name, "format": DIRECT.name}
    contestants = [{"name": each, "player": SCRIPTED} for each in names]
    chosen = FINAL_RULING if len(names) > 1 else CONSULTANCY
    return {"name": name, "contestants": contestants, "format": chosen.name}


def _motions(given: Sequence[ImportedJudgment]) -> list[dict[str, Any]]:
    """Of a motion the answer is known in every debate, or in none."""
    known: dict[str, bool] = {}
    for number, row in enumerate(given, FIRST_LINE):
        if known.setdefault(row.motion_id, row.correct is not None) != (row.correct is not None):
            problem = f"correct is given for the motion {row.motion_id!r} in some lines and not in others"
            raise InvalidInput(f"line {number}", problem)
    return [
        {"id": name, "position": place, "correct": "a" if is_known else None}
        for place, (name, is_known) in enumerate(known.items(), 1)
    ]


def _debates(given: Sequence[ImportedJudgment]) -> dict[str, dict[str, Any]]:
    """By their names elsewhere. A debate has one arm, one motion, one proposer, one opponent and one right side."""
    found: dict[str, tuple[object, ...]] = {}
    made: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(given, FIRST_LINE):
        facts = (row.arm, row.motion_id, row.proposer, row.opponent, row.repeat, row.correct)
        if found.setdefault(row.debate, facts) != facts:
            raise InvalidInput(
                f"line {number}",
                f"the debate {row.debate!r} has another arm, motion, contestant, repeat or correct side in an earlier"
                " line",
            )
        if row.debate not in made:
            made[row.debate] = {
                "debate_id": new_debate_id(),
                "turn_id": new_id(),
                "key": row.debate,
                "position": len(made) + 1,
                "arm": row.arm,
                "motion_id": row.motion_id,
                "proposer": row.proposer,
                "opponent": row.opponent,
                "repeat": row.repeat,
                "answer": "b" if row.correct == "opponent" else "a",
            }
    return made


def _judgments(given: Sequence[ImportedJudgment], ids: dict[str, UUID]) -> list[dict[str, Any]]:
    """Where one judge has judged a debate several times through one round in one order, those are its repeats."""
    seen: dict[tuple[str, str, str, int | None], int] = {}
    known: set[str] = set()
    rows = []
    for number, row in enumerate(given, FIRST_LINE):
        if row.id and row.id in known:
            raise InvalidInput(f"line {number}", f"the judgment {row.id!r} is in an earlier line")
        known.add(row.id)
        key = (row.debate, row.judge, row.order, row.through_round)
        seen[key] = seen.get(key, 0) + 1
        verdict = Verdict(row.winner, row.scores, "Imported.", confidence=row.confidence)
        rows.append(
            {
                "debate_id": ids[row.debate],
                "judge": row.judge,
                "judge_kind": kind_in_name(row.judge).value,
                "order": row.order.value,
                "repeat": seen[key],
                "through_round": row.through_round,
                "setup": {"player": row.player},
                "verdict": verdict_row(verdict),
                "cost_usd": row.cost_usd,
                "judged_at": row.judged_at,
            }
        )
    return rows
