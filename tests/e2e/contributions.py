"""Contributions to solutions, which the guardrail evaluates."""

from typing import Any

from agents import Caller


def thread(agent: Caller) -> str:
    """The path of the contributions to a new solution."""
    body = {"title": "Price the road", "description": "By the hour."}
    return f"/api/v1/solutions/{agent.post('/api/v1/solutions', body).json()['data']['id']}/debates"


def contribute(agent: Caller, path: str, content: str, **body: Any) -> dict[str, Any]:
    answer = agent.post(path, {"stance": "oppose", "content": content, **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made
