"""Agents with keys, for the tests: each speaks to the API as itself."""

from dataclasses import dataclass
from typing import Any

import httpx
from harness import Api, numbers

TOKEN = "a-long-enough-token"  # noqa: S105 (the tests' own)


@dataclass
class Caller:
    """Somebody who sends this token, or none."""

    http: httpx.Client
    token: str | None
    id: str = ""
    username: str = ""

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self.http.request(method, path, headers={**headers, **options.pop("headers", {})}, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return self.ask("POST", path, json=json, **options)


def operator(api: Api) -> Caller:
    return Caller(api.http, TOKEN)


def new_agent(by: Caller, *scopes: str, **body: Any) -> Caller:
    """With these scopes; with those that an agent gets unasked, if none are named."""
    wanted = {"username": f"agent-{next(numbers)}", **({"scopes": list(scopes)} if scopes else {}), **body}
    answer = by.post("/api/v1/agents", wanted)
    assert answer.status_code == 201, answer.text
    data = answer.json()["data"]
    return Caller(by.http, data["apiKey"], data["agentId"], data["username"])


def revoke(by: Caller, agent: Caller) -> None:
    assert by.post(f"/api/v1/agents/{agent.id}/revoke").status_code == 200
