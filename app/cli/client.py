"""The client of the commands: debate_client, with the messages, exit codes and retries of the command line."""

import re
from collections.abc import Iterator
from typing import Any

import debate_client
from app.cli.errors import CommandFailed, Exit, ServerUnavailable
from app.cli.output import Json, note, program
from app.settings import Settings, without_secrets
from debate_client import requests

_REFUSALS = {"ACTION_NOT_ALLOWED", "FORBIDDEN", "AUTH_FAILED", "UNAUTHORIZED", "SEAT_TAKEN"}
REQUEST_SECONDS = 30.0
PAGE_ITEMS = 100
RETRY_PAUSES_SECONDS = (0.5, 1.0, 2.0)


class Api:
    def __init__(self, url: str, token: str | None, patient: bool = False) -> None:
        """`patient`: also retries when there is no response at all; for idempotent requests.

        Reads are always retried after a response that allows a retry (429, 502, 503, 504).
        """
        self.url = url.rstrip("/")
        self.shown_url = without_secrets(self.url)
        self._is_patient = patient
        # An empty key: the token of the settings is the only one, also where the environment has another.
        self.client = debate_client.Client(
            self.url,
            token or "",
            timeout_seconds=REQUEST_SECONDS,
            retries=debate_client.Retries(RETRY_PAUSES_SECONDS, without_answer=patient),
            on_retry=lambda problem, seconds: note(f"{self.failure(problem).message}; retrying in {seconds:g} s"),
        )

    @classmethod
    def of(cls, settings: Settings, patient: bool = False) -> "Api":
        return cls(settings.url, settings.auth_token, patient)

    def answers(self) -> bool:
        """Whether a debate-runner responds at this URL."""
        return self.client.answers()

    def get(self, path: str, within_seconds: float = REQUEST_SECONDS, **query: Any) -> Json:
        data: Json = self.send(requests.call("GET", path, query).within(within_seconds))
        return data

    def get_all(self, path: str) -> list[Json]:
        """All items of a list of the solutions API, page by page."""
        items: list[Json] = []
        cursor = None
        while True:
            found, cursor = self.send(requests.solutions_page(path, cursor))
            items += found
            if cursor is None:
                return items

    def pages(self, path: str, name: str, **query: Any) -> Iterator[Json]:
        """All items of another list, page by page as they are needed."""
        cursor = None
        while True:
            page = self.get(path, **{"limit": PAGE_ITEMS, **query}, cursor=cursor)
            yield from page[name]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def post(self, path: str, body: Json | None = None, repeatable: bool = False) -> Json:
        """`repeatable`: the request is idempotent."""
        request = requests.call("POST", path, body=body or {}, repeatable=repeatable or self._is_patient)
        data: Json = self.send(request)
        return data

    def post_content(self, path: str, content: bytes, kind: str, repeatable: bool = False, **query: Any) -> Json:
        """A body of another type: JSON lines, CSV. `repeatable`: the request is idempotent."""
        data: Json = self.send(requests.upload(path, content, kind, query, repeatable))
        return data

    def delete(self, path: str) -> Json:
        data: Json = self.send(requests.call("DELETE", path, repeatable=self._is_patient))
        return data

    def download(self, path: str, **query: Any) -> bytes:
        return self.send(requests.document(path, query))

    def parts(self, path: str, **query: Any) -> Iterator[bytes]:
        """A document in parts as they arrive, so that memory stays flat."""
        try:
            yield from self.client.download(path, query)
        except debate_client.ClientError as problem:
            raise self.failure(problem) from problem

    def readiness(self) -> Json:
        """A 503 of /ready is a result, not a failure."""
        try:
            return self.client.send(requests.ready(), debate_client.Retries(()))
        except debate_client.ClientError as problem:
            raise self._no_server(problem) from problem

    def send(self, request: requests.Request[requests.T]) -> requests.T:
        """Raises CommandFailed for what the client raises."""
        try:
            return self.client.send(request, self._retries(request.timeout_seconds or REQUEST_SECONDS))
        except debate_client.ClientError as problem:
            raise self.failure(problem) from problem

    def _retries(self, within_seconds: float) -> debate_client.Retries:
        within = None if self._is_patient else within_seconds
        return debate_client.Retries(RETRY_PAUSES_SECONDS, without_answer=self._is_patient, within_seconds=within)

    def failure(self, problem: debate_client.ClientError) -> CommandFailed:
        """The exception of the client as the end of a command."""
        match problem:
            case debate_client.NoAnswer():
                return self._no_server(problem.problem)
            case debate_client.Unavailable():
                failure = ServerUnavailable(problem.message)
                failure.was_answered = True
                return failure
            case debate_client.Refused():
                exit_code = Exit.REFUSED if problem.code in _REFUSALS else Exit.ERROR
                message = problem.context.get("explanation") or problem.message
                field = problem.context.get("field")
                return CommandFailed(_with_options(message, field), exit_code, problem.suggestion, field)
        return CommandFailed(problem.message)

    def _no_server(self, problem: Exception) -> ServerUnavailable:
        return ServerUnavailable(
            f"No server responds at {self.shown_url} ({_why(problem)})",
            Exit.NO_SERVER,
            f"Start one with `{program()} up`, or set DEBATE_SERVER_URL to the URL of your server",
        )


def _with_options(message: str, field: str | None) -> str:
    """The message with the options of the commands instead of the fields of the request."""
    if field and field.startswith("seats."):
        message = message.removeprefix(f"{field}: ")
    return message.replace("limits.max_cost_usd", "--max-cost-usd")


def _why(problem: Exception) -> str:
    """Without the number that the system gives it: "Connection refused"."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(problem)) or type(problem).__name__
