"""Agents with keys, for the tests: each speaks to the API as itself, through debate_client."""

from dataclasses import dataclass, field
from typing import Any

import httpx
from harness import Api, numbers

from debate_client import Client

TOKEN = "a-long-enough-token"  # noqa: S105 (the tests' own)


@dataclass
class Caller:
    """Somebody who sends this token, or none, and sees the answers as they came."""

    api: Api
    token: str | None
    id: str = ""
    username: str = ""
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(str(self.api.http.base_url), self.token or "")

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return self.ask("POST", path, json=json, **options)


def operator(api: Api) -> Caller:
    return Caller(api, TOKEN)


def new_agent(by: Caller, *scopes: str, username: str | None = None, display_name: str | None = None) -> Caller:
    """With these scopes; with those that an agent gets unasked, if none are named."""
    made = by.client.create_agent(username or f"agent-{next(numbers)}", display_name, scopes or None)
    return Caller(by.api, made.key, made.id, made.username)


def browser(api: Api, **headers: str) -> httpx.Client:
    """One that keeps cookies as a browser does, by path, and says where its requests come from."""
    sent = {"Sec-Fetch-Site": "same-origin", **headers}
    return httpx.Client(base_url=api.http.base_url, headers=sent, trust_env=False, timeout=60)


def joined(api: Api, url: str, **headers: str) -> tuple[httpx.Client, httpx.Response]:
    """A browser that has accepted this invitation, and the answer to that."""
    guest = browser(api, **headers)
    answer = guest.post(httpx.URL(url).path)
    assert answer.status_code == 303, answer.text
    return guest, answer


def revoke(by: Caller, agent: Caller) -> None:
    assert by.post(f"/api/v1/agents/{agent.id}/revoke").status_code == 200
