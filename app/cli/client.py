"""The API as the commands use it."""

from typing import Any

import httpx

from app.cli.errors import CommandFailed, Exit
from app.settings import Settings

Json = dict[str, Any]
_REFUSALS = {"ACTION_NOT_ALLOWED", "FORBIDDEN", "AUTH_FAILED"}


class Api:
    def __init__(self, url: str, token: str | None, timeout_seconds: float = 30) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # No proxy from the environment: it would be asked for servers on this machine too.
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout_seconds, trust_env=False)

    @classmethod
    def of(cls, settings: Settings) -> "Api":
        return cls(settings.url, settings.auth_token)

    def answers(self) -> bool:
        """Is there a debate-runner at this address?"""
        try:
            answer = self._http.get("/health", timeout=2)
            return bool(answer.json()["data"]["status"] == "ok")
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return False

    def get(self, path: str, **query: Any) -> Json:
        given = {name: value for name, value in query.items() if value is not None}
        return self._ask("GET", path, params=given)

    def post(self, path: str, body: Json | None = None) -> Json:
        return self._ask("POST", path, json=body or {})

    def delete(self, path: str) -> Json:
        return self._ask("DELETE", path)

    def readiness(self) -> Json:
        """Unlike other answers, a 503 here is what was asked for."""
        try:
            data: Json = self._http.get("/ready").json()["data"]
        except (httpx.HTTPError, ValueError, KeyError) as problem:
            raise _no_server(self.url, problem) from problem
        return data

    def _ask(self, method: str, path: str, **options: Any) -> Json:
        try:
            answer = self._http.request(method, path, **options)
        except httpx.HTTPError as problem:
            raise _no_server(self.url, problem) from problem
        try:
            envelope = answer.json()
            if envelope["success"]:
                data: Json = envelope["data"]
                return data
            error = envelope["error"]
        except (ValueError, KeyError, TypeError):
            raise CommandFailed(f"{self.url} answered {answer.status_code} and not as a debate-runner") from None
        exit_code = Exit.REFUSED if error["code"] in _REFUSALS else Exit.ERROR
        raise CommandFailed(error["message"], exit_code, error.get("suggestion"))


def _no_server(url: str, problem: Exception) -> CommandFailed:
    return CommandFailed(
        f"No server answers at {url} ({problem or type(problem).__name__})",
        Exit.NO_SERVER,
        "Start one with `debate up`, or point DEBATE_SERVER_URL at yours",
    )
