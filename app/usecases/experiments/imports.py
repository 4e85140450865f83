"""Imports what was run elsewhere as an experiment, so that its results can be computed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from app.core.access import Action, Caller, holder_id, require
from app.core.errors import Conflict, InvalidInput
from app.core.experiments.imported import ImportedJudgment
from app.core.experiments.spec import spec_of
from app.core.imports import LONGEST_NAME, ImportedDebate, ImportedMaterial, ImportedOpinion, in_line, title_of
from app.core.players import EXTERNAL, SCRIPTED, JudgeOrder, SeatSetup
from app.core.schedules import CONSULTANCY, DIRECT, FINAL_RULING
from app.core.verdicts import Verdict
from app.store import imports
from app.store.engine import Connection
from app.store.experiments import experiments
from app.store.experiments.experiments import Experiment
from app.store.ids import new_debate_id, new_id
from app.usecases.experiments.manage import parsed
from app.usecases.imports import Imported, Keyed, add, keyed, require_new, rows_of, unknown
from app.usecases.services import Services
from app.usecases.transactions import repeated_on_conflict, transaction

log = structlog.get_logger(__name__)
FIRST_LINE = 2
"""Of a CSV file: the first one has the columns."""
REASONING = "Imported."


@dataclass(frozen=True, slots=True)
class ImportedExperiment:
    id: UUID
    is_new: bool
    debates: Imported


@repeated_on_conflict
def import_rows(services: Services, caller: Caller, name: str, given: Sequence[ImportedJudgment]) -> UUID:
    """Judgments alone, as a new experiment: its debates have no transcripts."""
    require(caller, Action.EXPERIMENT)
    experiment_id, created_by = new_id(), holder_id(caller)
    new = services.run_aside(lambda: [Keyed(debate, new_debate_id(), None) for debate in _debates(given)])
    rows = services.run_aside(lambda: rows_of(new, created_by, experiment_id, _more(new, experiment_id)))
    stated = _stated(name, _names(new))
    with transaction(services, caller) as connection:
        if not experiments.add(
            connection, experiment_id, stated, parsed(stated, spec_of), SeatSetup(EXTERNAL), created_by
        ):
            raise Conflict(f"There is an experiment named {name!r} already", suggestion="Give another name")
        add(connection, rows)
        experiments.mark_imported(connection, experiment_id)
    log.info("experiment.imported", experiment_id=str(experiment_id), judgments=len(given), by=caller.name)
    return experiment_id


@repeated_on_conflict
def import_debates(
    services: Services, caller: Caller, name: str, debates: Sequence[ImportedDebate]
) -> ImportedExperiment:
    """Debates with their transcripts: as a new experiment, or added to the caller's imported one of that name."""
    require(caller, Action.EXPERIMENT)
    created_by = holder_id(caller)
    given = services.run_aside(lambda: keyed(debates, created_by, name))
    with services.engine.statements() as connection:
        found = experiments.get_named(connection, created_by, name)
        new = unknown(connection, created_by, given)
        if found is not None:
            _refuse_unfit(connection, found, new)
    experiment_id = found.id if found else new_id()
    rows = services.run_aside(lambda: rows_of(new, created_by, experiment_id, _more(new, experiment_id)))
    with transaction(services, caller) as connection:
        require_new(connection, created_by, new)
        _extend(connection, created_by, name, experiment_id, found, _names(new))
        add(connection, rows)
        experiments.mark_imported(connection, experiment_id)
    log.info("experiment.imported", experiment_id=str(experiment_id), debates=len(new), by=caller.name)
    imported = Imported(len(new), len(given) - len(new), {one.given.id: one.id for one in given})
    return ImportedExperiment(experiment_id, found is None, imported)


def _refuse_unfit(connection: Connection, found: Experiment, new: Sequence[Keyed]) -> None:
    if not found.imported:
        raise Conflict(
            f"The experiment {found.name!r} is run here: nothing can be imported into it",
            suggestion="Give another name",
        )
    taken = imports.taken_keys(connection, found.id, [one.given.id for one in new])
    known = imports.with_answers(connection, found.id, {one.given.motion_id for one in new})
    for one in new:
        with in_line(one.given.line):
            if one.given.id in taken:
                raise InvalidInput("id", f"the experiment has a debate {one.given.id!r} with other content")
            if known.get(one.given.motion_id, _is_known(one)) != _is_known(one):
                raise InvalidInput("material.correct", _half_known(one.given.motion_id, "debates"))


def _extend(
    connection: Connection, created_by: str, name: str, experiment_id: UUID, found: Experiment | None, names: set[str]
) -> None:
    """With these contestants. The caller's imports are locked."""
    if found is not None:
        now = experiments.get(connection, experiment_id, lock=True)
        if now is None:
            raise Conflict(f"The experiment {name!r} was deleted during the import", suggestion="Send it again")
        stated = _stated(name, names | {one.name for one in now.spec.contestants})
        if stated != now.stated:
            experiments.replace_spec(connection, experiment_id, stated, parsed(stated, spec_of))
        return
    stated = _stated(name, names)
    if not experiments.add(connection, experiment_id, stated, parsed(stated, spec_of), SeatSetup(EXTERNAL), created_by):
        raise Conflict(f"Another request has just made an experiment named {name!r}", suggestion="Send it again")


def _names(debates: Sequence[Keyed]) -> set[str]:
    return {side for one in debates for side in (one.given.proposer, one.given.opponent) if side}


def _stated(name: str, names: set[str]) -> dict[str, Any]:
    """Who the contestants are is not known here: only their names count. They are kept as they are in the file, also
    those that a spec may not give."""
    if not names:
        return {"name": name, "format": DIRECT.name}
    contestants = [{"name": each, "player": SCRIPTED} for each in sorted(names)]
    chosen = FINAL_RULING if len(names) > 1 else CONSULTANCY
    return {"name": name, "contestants": contestants, "format": chosen.name}


def _more(debates: Sequence[Keyed], experiment_id: UUID) -> Mapping[str, list[dict[str, Any]]]:
    """Motions and matches. Which answer is correct is known in every debate of a motion, or in none."""
    is_known: dict[str, bool] = {}
    words: dict[str, str] = {}
    for one in debates:
        motion_id = one.given.motion_id
        if is_known.setdefault(motion_id, _is_known(one)) != _is_known(one):
            with in_line(one.given.line):
                raise InvalidInput("material.correct", _half_known(motion_id, "lines"))
        # A motion may stand for several questions of one text: then its id names it.
        words[motion_id] = one.given.motion if words.get(motion_id, one.given.motion) == one.given.motion else motion_id
    motions = [
        {
            "experiment_id": experiment_id,
            "id": motion_id,
            "position": position,
            "motion": words[motion_id],
            "correct": "a" if known else None,
        }
        for position, (motion_id, known) in enumerate(is_known.items(), 1)
    ]
    matches = [
        {
            "experiment_id": experiment_id,
            "key": one.given.id,
            "position": position,
            "arm": one.given.arm,
            "motion_id": one.given.motion_id,
            "proposer": one.given.proposer,
            "opponent": one.given.opponent,
            "repeat": one.given.repeat,
            "answer": "b" if one.given.material.correct == "opponent" else "a",
            "debate_id": one.id,
        }
        for position, one in enumerate(debates, 1)
    ]
    return {"motions": motions, "matches": matches}


def _is_known(one: Keyed) -> bool:
    return one.given.material.correct is not None


def _half_known(motion_id: str, where: str) -> str:
    return f"correct is given for the motion {motion_id!r} in some {where} and not in others"


def _debates(given: Sequence[ImportedJudgment]) -> list[ImportedDebate]:
    """Of judgments. A debate has one arm, one motion, one proposer, one opponent and one right side."""
    known: dict[str, bool] = {}
    facts_of: dict[str, tuple[object, ...]] = {}
    judged: dict[str, list[ImportedOpinion]] = {}
    first: dict[str, tuple[int, ImportedJudgment]] = {}
    seen: dict[tuple[str, str, JudgeOrder, int | None], int] = {}
    ids: set[str] = set()
    for number, row in enumerate(given, FIRST_LINE):
        where = f"line {number}"
        facts = (row.arm, row.motion_id, row.proposer, row.opponent, row.repeat, row.correct)
        if facts_of.setdefault(row.debate, facts) != facts:
            raise InvalidInput(
                where,
                f"the debate {row.debate!r} has another arm, motion, contestant, repeat or correct side in an earlier"
                " line",
            )
        if known.setdefault(row.motion_id, row.correct is not None) != (row.correct is not None):
            raise InvalidInput(where, _half_known(row.motion_id, "lines"))
        if row.id and row.id in ids:
            raise InvalidInput(where, f"the judgment {row.id!r} is in an earlier line")
        ids.add(row.id)
        key = (row.debate, row.judge, row.order, row.through_round)
        seen[key] = seen.get(key, 0) + 1
        first.setdefault(row.debate, (number, row))
        # Where one judge has judged a debate several times through one round in one order, those are its repeats.
        judged.setdefault(row.debate, []).append(_opinion(row, seen[key]))
    return [_without_transcript(number, row, judged[debate]) for debate, (number, row) in first.items()]


def _opinion(row: ImportedJudgment, repeat: int) -> ImportedOpinion:
    verdict = Verdict(row.winner, row.scores, REASONING, confidence=row.confidence)
    return ImportedOpinion(
        row.judge,
        row.order,
        repeat,
        verdict,
        through_round=row.through_round,
        player=row.player,
        cost_usd=row.cost_usd,
        judged_at=row.judged_at,
    )


def _without_transcript(line: int, row: ImportedJudgment, opinions: Sequence[ImportedOpinion]) -> ImportedDebate:
    return ImportedDebate(
        id=row.debate,
        motion=row.motion_id,
        motion_id=row.motion_id,
        title=title_of(row.motion_id) or row.motion_id[:LONGEST_NAME],
        arm=row.arm,
        schedule=FINAL_RULING,
        proposer=row.proposer,
        opponent=row.opponent,
        judgments=tuple(opinions),
        material=ImportedMaterial(correct=row.correct),
        repeat=row.repeat,
        line=line,
    )
