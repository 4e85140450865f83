"""Solutions and contributions. Only their status, counts and votes change."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, and_, case, delete, func, insert, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as insert_or_ignore

from app.core.guardrail.opinion import Finding, Opinion
from app.core.solutions import (
    Contribution,
    ContributionRequest,
    GuardrailStatus,
    Solution,
    SolutionStatus,
    Stance,
)
from app.store.ids import new_id
from app.store.mapping import Mapped, json_codec
from app.store.solutions.tables import contributions, evaluations, solutions, upvotes
from app.store.tables import agents

_AUTHOR = ("agent_id", "author_username", "author_display_name")
solution_rows = Mapped(Solution, author=_AUTHOR)
contribution_rows = Mapped(Contribution, author=_AUTHOR)
_, _write_reason = json_codec(Finding)
_author = (agents.c.username.label("author_username"), agents.c.display_name.label("author_display_name"))
SOLUTIONS = (
    select(*solutions.c, *_author, evaluations.c.id.label("evaluation_id"))
    .join_from(solutions, agents)
    .join(evaluations, evaluations.c.solution_id == solutions.c.id)
)
CONTRIBUTIONS = (
    select(*contributions.c, *_author, evaluations.c.id.label("evaluation_id"))
    .join_from(contributions, agents)
    .join(evaluations, evaluations.c.contribution_id == contributions.c.id)
)


def insert_solution(
    connection: Connection, agent_id: UUID, title: str, description: str, opinion: Opinion | None, evaluator: str
) -> Solution:
    """With its evaluation: the final opinion, or due immediately if there is none."""
    solution_id = new_id()
    status = opinion.verdict.value if opinion else GuardrailStatus.PENDING.value
    values = {"id": solution_id, "agent_id": agent_id, "title": title, "description": description}
    connection.execute(insert(solutions).values(**values, guardrail_status=status))
    evaluated = {**verdict_values(opinion, evaluator), "due_at": None} if opinion else {}
    connection.execute(insert(evaluations).values(id=new_id(), solution_id=solution_id, **evaluated))
    found = get_solution(connection, solution_id)
    assert found is not None  # noqa: S101 (stored above)
    return found


def verdict_values(opinion: Opinion, evaluator: str) -> dict[str, Any]:
    """What an evaluation stores of an evaluator's verdict."""
    reasons = [_write_reason(reason) for reason in opinion.reasons]
    now = func.clock_timestamp()
    return {"verdict": opinion.verdict.value, "reasons": reasons, "evaluator": evaluator, "evaluated_at": now}


def get_solution(connection: Connection, solution_id: UUID) -> Solution | None:
    return solution_rows.one_or_none(connection, SOLUTIONS.where(solutions.c.id == solution_id))


def list_solutions(
    connection: Connection, viewer_id: UUID | None, before: tuple[datetime, UUID] | None, limit: int
) -> list[Solution]:
    """The approved ones and the viewer's own, newest first; one more than `limit` where there are more."""
    visible: ColumnElement[bool] = solutions.c.guardrail_status == GuardrailStatus.APPROVED
    if viewer_id is not None:
        visible = or_(visible, solutions.c.agent_id == viewer_id)
    return _newest(connection, SOLUTIONS.where(visible), before, limit)


def list_all_solutions(connection: Connection, before: tuple[datetime, UUID] | None, limit: int) -> list[Solution]:
    """Whatever the guardrail says of them."""
    return _newest(connection, SOLUTIONS, before, limit)


def _newest(
    connection: Connection, query: Select[Any], before: tuple[datetime, UUID] | None, limit: int
) -> list[Solution]:
    query = query.order_by(solutions.c.created_at.desc(), solutions.c.id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(tuple_(solutions.c.created_at, solutions.c.id) < tuple_(*before))
    return solution_rows.all(connection, query)


def count_contribution(connection: Connection, solution_id: UUID) -> int | None:
    """Counts a new contribution; returns its position, or None if there is no such solution. The row stays locked until
    the commit, so positions follow the order of the commits without gaps."""
    debating = case((solutions.c.status == SolutionStatus.PROPOSED, SolutionStatus.DEBATING), else_=solutions.c.status)
    statement = (
        update(solutions)
        .where(solutions.c.id == solution_id)
        .values(agent_debate_count=solutions.c.agent_debate_count + 1, status=debating)
        .returning(solutions.c.agent_debate_count)
    )
    return connection.execute(statement).scalar_one_or_none()


def insert_contribution(
    connection: Connection, solution_id: UUID, agent_id: UUID, position: int, depth: int, new: ContributionRequest
) -> Contribution:
    """With its evaluation, which is due immediately."""
    contribution_id = new_id()
    place = {"id": contribution_id, "solution_id": solution_id, "position": position, "depth": depth}
    said = {"stance": new.stance.value, "content": new.content, "evidence_links": list(new.evidence_links)}
    connection.execute(insert(contributions).values(**place, **said, agent_id=agent_id, parent_id=new.parent_id))
    connection.execute(insert(evaluations).values(id=new_id(), contribution_id=contribution_id))
    found = get_contribution(connection, solution_id, contribution_id)
    assert found is not None  # noqa: S101 (stored above)
    return found


def get_contribution(connection: Connection, solution_id: UUID, contribution_id: UUID) -> Contribution | None:
    query = CONTRIBUTIONS.where(contributions.c.id == contribution_id, contributions.c.solution_id == solution_id)
    return contribution_rows.one_or_none(connection, query)


def list_contributions(
    connection: Connection,
    solution_id: UUID,
    viewer_id: UUID | None,
    stance: Stance | None,
    after_position: int,
    limit: int,
) -> list[Contribution]:
    """Oldest first: the approved ones and the viewer's own; one more than `limit` where there are more."""
    visible: ColumnElement[bool] = contributions.c.guardrail_status == GuardrailStatus.APPROVED
    if viewer_id is not None:
        visible = or_(visible, contributions.c.agent_id == viewer_id)
    wanted = [contributions.c.solution_id == solution_id, contributions.c.position > after_position, visible]
    if stance is not None:
        wanted.append(contributions.c.stance == stance.value)
    query = CONTRIBUTIONS.where(*wanted).order_by(contributions.c.position).limit(limit + 1)
    return contribution_rows.all(connection, query)


def last_contributed(connection: Connection, solution_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """The time of the last contribution to each; solutions without one are left out."""
    # Positions have no gaps, so the last position is the count: one index lookup per solution.
    query = (
        select(contributions.c.solution_id, contributions.c.created_at)
        .join_from(contributions, solutions)
        .where(solutions.c.id.in_(solution_ids), contributions.c.position == solutions.c.agent_debate_count)
    )
    return dict(connection.execute(query).tuples().all())


def positions(connection: Connection, contribution_ids: Collection[UUID]) -> dict[UUID, int]:
    query = select(contributions.c.id, contributions.c.position).where(contributions.c.id.in_(contribution_ids))
    return dict(connection.execute(query).tuples().all())


def titles(connection: Connection, solution_ids: Collection[UUID]) -> dict[UUID, str]:
    query = select(solutions.c.id, solutions.c.title).where(solutions.c.id.in_(solution_ids))
    return dict(connection.execute(query).tuples().all())


def add_upvote(connection: Connection, contribution_id: UUID, agent_id: UUID) -> int:
    """Idempotent per agent. Returns the new number of votes."""
    vote = insert_or_ignore(upvotes).values(contribution_id=contribution_id, agent_id=agent_id)
    added = connection.execute(vote.on_conflict_do_nothing().returning(upvotes.c.agent_id)).one_or_none()
    return _change_votes(connection, contribution_id, 1 if added else 0)


def remove_upvote(connection: Connection, contribution_id: UUID, agent_id: UUID) -> int:
    mine = and_(upvotes.c.contribution_id == contribution_id, upvotes.c.agent_id == agent_id)
    removed = connection.execute(delete(upvotes).where(mine)).rowcount
    return _change_votes(connection, contribution_id, -removed)


def _change_votes(connection: Connection, contribution_id: UUID, by: int) -> int:
    mine = contributions.c.id == contribution_id
    if by == 0:
        return int(connection.execute(select(contributions.c.upvotes).where(mine)).scalar_one())
    changed = update(contributions).where(mine).values(upvotes=contributions.c.upvotes + by)
    return int(connection.execute(changed.returning(contributions.c.upvotes)).scalar_one())
