"""The client of the commands: debate_client, with the command line's words, exit codes and patience."""

import re
from typing import Any, BinaryIO

import debate_client
from app.cli.errors import CommandFailed, Exit, ServerUnavailable
from app.cli.output import Json, note, program
from app.settings import Settings, without_secrets
from debate_client import requests

_REFUSALS = {"ACTION_NOT_ALLOWED", "FORBIDDEN", "AUTH_FAILED", "UNAUTHORIZED", "SEAT_TAKEN"}
REQUEST_SECONDS = 30.0
RETRY_PAUSES_SECONDS = (0.5, 1.0, 2.0)


class Api:
    def __init__(self, url: str, token: str | None, patient: bool = False) -> None:
        """`patient`: also retries when there is no answer at all; for requests that are safe to repeat.

        Reads are always retried after an answer that says "not now" (429, 502, 503, 504).
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
            on_retry=lambda problem, seconds: note(f"{self.failure(problem).message}; trying again in {seconds:g} s"),
        )

    @classmethod
    def of(cls, settings: Settings, patient: bool = False) -> "Api":
        return cls(settings.url, settings.auth_token, patient)

    def answers(self) -> bool:
        """Whether a debate-runner serves this address."""
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

    def post(self, path: str, body: Json | None = None, repeatable: bool = False) -> Json:
        """`repeatable`: the request is idempotent."""
        request = requests.call("POST", path, body=body or {}, repeatable=repeatable or self._is_patient)
        data: Json = self.send(request)
        return data

    def post_content(self, path: str, content: bytes, kind: str, **query: Any) -> Json:
        """A body that is no JSON document: JSON lines, CSV."""
        data: Json = self.send(requests.upload(path, content, kind, query))
        return data

    def delete(self, path: str) -> Json:
        data: Json = self.send(requests.call("DELETE", path, repeatable=self._is_patient))
        return data

    def download(self, path: str, **query: Any) -> bytes:
        return self.send(requests.document(path, query))

    def download_to(self, sink: BinaryIO, path: str, **query: Any) -> None:
        """As it comes, so that memory stays flat."""
        try:
            for part in self.client.download(path, query):
                sink.write(part)
        except debate_client.ClientError as problem:
            raise self.failure(problem) from problem

    def readiness(self) -> Json:
        """A 503 of /ready is an answer, not a failure."""
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
        """What the client raised, as the end of a command."""
        match problem:
            case debate_client.NoAnswer():
                return self._no_server(problem.problem)
            case debate_client.Unavailable():
                failure = ServerUnavailable(problem.message)
                failure.was_answered = True
                return failure
            case debate_client.Refused():
                exit_code = Exit.REFUSED if problem.code in _REFUSALS else Exit.ERROR
                said = problem.context.get("explanation") or problem.message
                return CommandFailed(said, exit_code, problem.suggestion, problem.context.get("field"))
        return CommandFailed(problem.message)

    def _no_server(self, problem: Exception) -> ServerUnavailable:
        return ServerUnavailable(
            f"No server answers at {self.shown_url} ({_why(problem)})",
            Exit.NO_SERVER,
            f"Start one with `{program()} up`, or set DEBATE_SERVER_URL to the address of yours",
        )


def _why(problem: Exception) -> str:
    """Without the number that the system gives it: "Connection refused"."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(problem)) or type(problem).__name__
