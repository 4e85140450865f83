"""Agents, solutions and contributions as JSON for clients of the solutions API."""

from typing import Any

from app.core.solutions import Author, Contribution, Solution
from app.store.agents import AgentRecord
from app.store.solutions.evaluations import Evaluation, Review
from app.wire.debates import time_json

Json = dict[str, Any]


def agent_json(agent: AgentRecord) -> Json:
    return {
        "agentId": str(agent.id),
        "username": agent.username,
        "displayName": agent.display_name,
        "scopes": sorted(agent.scopes),
        "keyHint": agent.key_hint,
        "createdAt": time_json(agent.created_at),
        "keyCreatedAt": time_json(agent.key_created_at),
        "revokedAt": time_json(agent.revoked_at),
    }


def author_json(author: Author) -> Json:
    return {"id": str(author.id), "username": author.username, "displayName": author.display_name}


def solution_json(solution: Solution) -> Json:
    return {
        "id": str(solution.id),
        "agentId": str(solution.author.id),
        "agent": author_json(solution.author),
        "title": solution.title,
        "description": solution.description,
        "status": solution.status.value,
        "agentDebateCount": solution.agent_debate_count,
        "createdAt": time_json(solution.created_at),
    }


def contribution_json(contribution: Contribution) -> Json:
    return {
        "id": str(contribution.id),
        "solutionId": str(contribution.solution_id),
        "agentId": str(contribution.author.id),
        "agent": author_json(contribution.author),
        "parentDebateId": str(contribution.parent_id) if contribution.parent_id else None,
        "depth": contribution.depth,
        "stance": contribution.stance.value,
        "content": contribution.content,
        "evidenceLinks": list(contribution.evidence_links),
        "guardrailStatus": contribution.guardrail_status.value,
        "guardrailEvaluationId": str(contribution.evaluation_id),
        "upvotes": contribution.upvotes,
        "createdAt": time_json(contribution.created_at),
    }


def evaluation_json(evaluation: Evaluation) -> Json:
    return {
        "id": str(evaluation.id),
        "status": evaluation.status.value,
        "verdict": evaluation.verdict.value if evaluation.verdict else None,
        "reasons": [{"rule": reason.rule, "message": reason.message} for reason in evaluation.reasons],
        "evaluator": evaluation.evaluator,
        "evaluatedAt": time_json(evaluation.evaluated_at),
        "decision": evaluation.decision.value if evaluation.decision else None,
        "decidedBy": evaluation.decided_by,
        "decisionReason": evaluation.decision_reason,
        "decidedAt": time_json(evaluation.decided_at),
    }


def review_json(review: Review) -> Json:
    return {
        "evaluation": evaluation_json(review.evaluation),
        "contribution": contribution_json(review.contribution),
    }
