"""The API as the commands use it."""

import time
from typing import Any

import httpx

from app.cli import show
from app.cli.errors import CommandFailed, Exit, Unavailable
from app.settings import Settings

Json = dict[str, Any]
_REFUSALS = {"ACTION_NOT_ALLOWED", "FORBIDDEN", "AUTH_FAILED", "UNAUTHORIZED"}
REQUEST_SECONDS = 30.0
RETRY_PAUSES_SECONDS = (0.5, 1.0, 2.0)
LONGEST_PAUSE_SECONDS = 30.0


class Api:
    def __init__(self, url: str, token: str | None, patient: bool = False) -> None:
        """A patient one asks again when no answer comes: for reading, and for requests that are safe to repeat."""
        self.url = url.rstrip("/")
        self._pauses = RETRY_PAUSES_SECONDS if patient else ()
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        # No proxy from the environment: it would be asked for servers on this machine too.
        self._http = httpx.Client(base_url=self.url, headers=self.headers, timeout=REQUEST_SECONDS, trust_env=False)

    @classmethod
    def of(cls, settings: Settings, patient: bool = False) -> "Api":
        return cls(settings.url, settings.auth_token, patient)

    def answers(self) -> bool:
        """Is there a debate-runner at this address?"""
        try:
            answer = self._http.get("/health", timeout=2)
            return bool(answer.json()["data"]["status"] == "ok")
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return False

    def get(self, path: str, within_seconds: float = REQUEST_SECONDS, **query: Any) -> Json:
        data: Json = self._data(self._ask("GET", path, params=_given(query), timeout=within_seconds))
        return data

    def get_all(self, path: str) -> list[Json]:
        """Every item of a list of the solutions API, page after page."""
        items: list[Json] = []
        cursor = None
        while True:
            answer = self._ask("GET", path, params=_given({"limit": 100, "cursor": cursor}))
            items += self._data(answer)
            cursor = answer.json()["meta"]["nextCursor"]
            if cursor is None:
                return items

    def post(self, path: str, body: Json | None = None) -> Json:
        data: Json = self._data(self._ask("POST", path, json=body or {}))
        return data

    def delete(self, path: str) -> Json:
        data: Json = self._data(self._ask("DELETE", path))
        return data

    def download(self, path: str, **query: Any) -> bytes:
        answer = self._ask("GET", path, params=_given(query))
        if not answer.is_success:
            self._data(answer)
        return answer.content

    def readiness(self) -> Json:
        """Unlike other answers, a 503 here is what was asked for."""
        try:
            data: Json = self._http.get("/ready").json()["data"]
        except (httpx.HTTPError, ValueError, KeyError) as problem:
            raise _no_server(self.url, problem) from problem
        return data

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        for pause in self._pauses:
            try:
                return self._ask_once(method, path, **options)
            except Unavailable as failure:
                seconds = min(max(pause, failure.retry_after_seconds), LONGEST_PAUSE_SECONDS)
                words = f"{failure.message}; asking again in {seconds:g} s"
                show.err.print(f"[dim]{show.safe(words)}[/]", soft_wrap=True)
                time.sleep(seconds)
        return self._ask_once(method, path, **options)

    def _ask_once(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **options)
        except httpx.HTTPError as problem:
            raise _no_server(self.url, problem) from problem
        if answer.status_code in (httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.TOO_MANY_REQUESTS):
            raise self._away(answer)
        return answer

    def _away(self, answer: httpx.Response) -> Unavailable:
        try:
            says = str(answer.json()["error"]["message"])
        except (ValueError, KeyError, TypeError):
            says = f"{self.url} answered {answer.status_code}: not available just now"
        failure = Unavailable(says)
        asked = answer.headers.get("Retry-After", "")
        failure.retry_after_seconds = float(asked) if asked.isdecimal() else 0
        return failure

    def _data(self, answer: httpx.Response) -> Any:
        try:
            envelope = answer.json()
            # The two APIs say it with two words.
            if envelope["ok"] if "ok" in envelope else envelope["success"]:
                return envelope["data"]
            error = envelope["error"]
        except (ValueError, KeyError, TypeError):
            raise CommandFailed(f"{self.url} answered {answer.status_code} and not as a debate-runner") from None
        exit_code = Exit.REFUSED if error["code"] in _REFUSALS else Exit.ERROR
        suggestion = error.get("suggestion") or (error.get("details") or {}).get("suggestion")
        raise CommandFailed(error["message"], exit_code, suggestion)


def _given(query: Json) -> Json:
    return {name: value for name, value in query.items() if value is not None}


def _no_server(url: str, problem: Exception) -> Unavailable:
    return Unavailable(
        f"No server answers at {url} ({problem or type(problem).__name__})",
        Exit.NO_SERVER,
        "Start one with `debate up`, or point DEBATE_SERVER_URL at yours",
    )
