"""What both example programs need of the debate API: ask again when asking again helps, and know whose turn it is."""

import logging
import os
import time
from typing import Any

import httpx

MY_TURN = ("respond", "align_to_ruling")
LOOK_EVERY_SECONDS = 0.5
RETRY_PAUSES_SECONDS = (0.5, 1, 2, 4, 8)

log = logging.getLogger("debate")


class Refused(Exception):
    """The server understood, and said no."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class DebateApi:
    def __init__(self) -> None:
        token = os.environ.get("DEBATE_AUTH_TOKEN")
        self._http = httpx.Client(
            base_url=os.environ.get("DEBATE_SERVER_URL", "http://127.0.0.1:3456"),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=10,
        )

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._ask("GET", path, params=query)

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Every body carries a client_request_id, so sending it again stores nothing twice."""
        return self._ask("POST", path, json=body)

    def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        for pause in RETRY_PAUSES_SECONDS:
            try:
                answer = self._http.request(method, path, **options)
            except httpx.TransportError as problem:
                log.info("no answer (%s): asking again", type(problem).__name__)
            else:
                if answer.status_code not in (429, 503):
                    return self._data(answer)
                pause = max(pause, int(answer.headers.get("Retry-After", 0)))
            time.sleep(pause)
        return self._data(self._http.request(method, path, **options))

    def _data(self, answer: httpx.Response) -> dict[str, Any]:
        envelope = answer.json()
        if not envelope["success"]:
            raise Refused(envelope["error"])
        return envelope["data"]

    def wait_for_turn(self, debate_id: str, role: str, patience_seconds: float) -> dict[str, Any] | None:
        """The news when it is this role's turn; None when the debate is closed.

        Without argument_id the answer is always the latest argument and what to do now: a program that was restarted
        has nothing to remember, and a stop by hand, which adds no argument, is seen too.
        """
        deadline = time.monotonic() + patience_seconds
        while time.monotonic() < deadline:
            news = self.get(f"/debates/{debate_id}/poll", role=role)
            if news["action"] == "debate_closed":
                return None
            if news["action"] in MY_TURN:
                return news
            time.sleep(LOOK_EVERY_SECONDS)
        raise TimeoutError(f"not the {role}'s turn within {patience_seconds:g} seconds: {debate_id}")

    def say(self, move: str, debate_id: str, answered: dict[str, Any], content: str, **fields: str) -> None:
        """One answer to one argument, however often this is called: the request's id says which it answers."""
        request_id = f"{debate_id}:{answered['id']}"
        try:
            self.post(
                f"/debates/{debate_id}/{move}",
                target_id=answered["id"],
                content=content,
                client_request_id=request_id,
                **fields,
            )
        except Refused as refusal:
            if refusal.code != "ACTION_NOT_ALLOWED":
                raise
            # Paused, interrupted, or somebody was quicker. The next look at the debate says what to do.
            log.info("%s", refusal)
            time.sleep(LOOK_EVERY_SECONDS)
        else:
            log.info("%s sent, in answer to seq %d", move, answered["seq"])
