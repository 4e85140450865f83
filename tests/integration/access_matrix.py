"""Everybody who may call, and a request of every operation of the OpenAPI document, in the process of a test."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from agents import TOKEN
from flask.testing import FlaskClient
from harness import new_debate, numbers, services_of

from app.bootstrap import build_relay
from app.core.access import OPERATOR, Scope
from app.core.errors import AuthFailed
from app.core.schedules import BUILT_IN
from app.http.requests import CreateDebateBody
from app.http.sessions import COOKIE, guest_cookie
from app.settings import Settings
from app.store.experiments.reading import MatchFilters
from app.usecases import agents, invitations
from app.usecases.create import create_debate
from app.usecases.experiments import feed, manage, read
from app.usecases.identity import begin_session, identify
from app.usecases.services import Services
from app.web.application import make_application

OURS = {"Host": "localhost", "Sec-Fetch-Site": "same-origin"}
SCOPES = {
    "reader": {Scope.READ},
    "debater": {Scope.READ, Scope.DEBATE},
    "holder": {Scope.READ, Scope.DEBATE},
    "mute": {Scope.DEBATE},
    "referee": {Scope.READ, Scope.ARBITRATE},
    "interested": {Scope.READ, Scope.DEBATE, Scope.ARBITRATE},
}
"""Agents by name. "holder" and "interested" hold the opponent's seat of the debates that they are asked about."""
OF_EXPERIMENTS = {
    "owner": {Scope.READ, Scope.DEBATE},
    "owner with arbitrate": set(Scope),
    "stranger": set(Scope),
}
"""Agents that are asked about an experiment, which one of the first two has created."""
UNKNOWN = ("nobody", "wrong", "revoked", "expired seat key")
GUESTS = {"seat key": "opponent", "judge's seat key": "arbitrator", "watcher's key": "watcher", "guest": "opponent"}
"""By the role that they were invited to; the last is a browser, the others send a key."""
CALLERS = (*UNKNOWN, *SCOPES, *GUESTS, "operator", "session")
SPEC = {
    "contestants": [{"name": name, "player": "scripted"} for name in ("a", "b")],
    "motions": [{"id": "m1", "motion": "A motion."}],
    "judges": [{"player": "scripted"}],
}
METHODS = ("get", "put", "post", "delete", "patch")


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": described
        for path, item in document["paths"].items()
        for method, described in item.items()
        if method in METHODS and path != "/ws"
    }


@dataclass
class World:
    services: Services
    client: FlaskClient
    agents: dict[str, tuple[UUID, str]] = field(default_factory=dict)
    asked_of: dict[str, tuple[UUID, UUID, dict[str, str]]] = field(default_factory=dict)
    """The debate of each caller, its motion, and what the caller sends; until it was changed."""

    def __post_init__(self) -> None:
        for name, scopes in {**SCOPES, **OF_EXPERIMENTS, "revoked": set(Scope)}.items():
            agent, key = agents.create_agent(
                self.services, OPERATOR, f"{name}-{next(numbers)}", None, frozenset(scopes)
            )
            self.agents[name] = (agent.id, key.secret)
        agents.revoke_key(self.services, OPERATOR, self.agents["revoked"][0])
        self.session = begin_session(self.services)

    @cached_property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/openapi.json", headers=OURS).json
        return found

    def new_debate(self, caller: str) -> tuple[UUID, UUID]:
        """The id of a dialogue of external seats, and of its motion."""
        seats: dict[str, Any] = {role: {"player": "external"} for role in ("proposer", "opponent", "arbitrator")}
        if caller not in GUESTS and caller != "expired seat key":
            holder = caller if caller == "interested" else "holder"
            seats["opponent"]["agent_id"] = str(self.agents[holder][0])
        body = CreateDebateBody.model_validate(new_debate(format="dialogue", seats=seats))
        stored = create_debate(self.services, OPERATOR, body.new_debate(BUILT_IN[body.format]))
        return stored.debate.id, stored.turn.id

    def new_experiment(self, caller: str) -> dict[str, str]:
        """Ids of an experiment and of one of its debates. It is the caller's own, if the caller is an owner."""
        owner = identify(self.services, self.agents[caller if "owner" in caller else "owner"][1])
        spec = {**SPEC, "name": f"experiment-{next(numbers)}"}
        experiment, _ = manage.draft(self.services, owner, spec)
        manage.start(self.services, owner, experiment.id)
        feed.feed_experiment(self.services, experiment.id)
        matches, _ = read.matches(self.services, experiment.id, MatchFilters(), None, 1)
        return {"experiment_id": str(experiment.id), "debate_id": str(matches[0]["debate_id"])}

    def headers(self, caller: str, debate_id: UUID) -> dict[str, str]:
        """What this caller sends to this debate, and everywhere else."""
        if caller == "nobody":
            return {}
        if caller == "session":
            return {"Cookie": f"{COOKIE}={self.session}"}
        if caller == "guest":
            made = invitations.invite(self.services, OPERATOR, debate_id, GUESTS[caller], None)
            _, secret = invitations.accept(self.services, made.token)
            return {"Cookie": f"{guest_cookie(debate_id)}={secret}"}
        return {"Authorization": f"Bearer {self._key(caller, debate_id)}"}

    def _key(self, caller: str, debate_id: UUID) -> str:
        if caller in GUESTS:
            return invitations.invite(self.services, OPERATOR, debate_id, GUESTS[caller], None).key
        if caller == "expired seat key":
            key = invitations.invite(self.services, OPERATOR, debate_id, "opponent", timedelta(microseconds=1)).key
            with suppress(AuthFailed):
                identify(self.services, key)
                raise AssertionError("it has not expired")
            return key
        if caller == "operator":
            return TOKEN
        return "dbr_wrong" if caller == "wrong" else self.agents[caller][1]

    def prepare(self, caller: str) -> tuple[UUID, UUID, dict[str, str]]:
        if caller not in self.asked_of:
            debate_id, motion = self.new_debate(caller)
            self.asked_of[caller] = (debate_id, motion, {**OURS, **self.headers(caller, debate_id)})
        return self.asked_of[caller]

    def ask(self, caller: str, operation: str, given: dict[str, Any]) -> Any:
        """`given`: fields of the body and parts of the address, instead of what the document's examples have."""
        method, path = operation.split()
        debate_id, motion, headers = self.prepare(caller)
        known = {"debate_id": debate_id, "argument_id": motion, "role": "opponent", "name": "nameless", **given}
        address = re.sub(r"\{(\w+)\}", lambda part: str(known.get(part[1], uuid4())), path)
        described = operations(self.document)[operation]
        query = {
            parameter["name"]: known.get(parameter["name"], "x")
            for parameter in described.get("parameters", ())
            if parameter["in"] == "query" and parameter.get("required")
        }
        if path.endswith("/wait"):
            query["timeout_ms"] = 1
        options = self._body(described, {**given, "target_id": str(motion)})
        answer = self.client.open(address, method=method, headers=headers, query_string=query, **options)
        if method != "GET" and answer.status_code < 400:
            del self.asked_of[caller]
        return answer

    def _body(self, described: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """As an option of the client: the example of the document."""
        contents = described.get("requestBody", {}).get("content", {})
        content = contents.get("application/json")
        if content is None:
            return {"data": next((file["example"] for file in contents.values()), None)}
        schema = content["schema"]
        schema = (
            self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        )
        example = dict(schema.get("examples", [{}])[0])
        unique = {
            name: f"{name}-{next(numbers)}"
            for name in ("client_request_id", "username", "name")
            if name in schema.get("properties", {})
        }
        named = {name: value for name, value in given.items() if name in schema.get("properties", {})}
        return {"json": {**example, **unique, **named}}


@contextmanager
def a_world(settings: Settings) -> Iterator[World]:
    with services_of(settings, 10) as services:
        relay = build_relay(services)
        yield World(services, make_application(services, relay).test_client(use_cookies=False))
        relay.end()


def refusal_of(answer: Any) -> int | None:
    """401 or 403 where access was refused; None where it was not, whatever else the answer says."""
    if answer.status_code not in (401, 403) or answer.mimetype != "application/json":
        return None
    code = answer.json["error"]["code"]
    return None if code == "ACTION_NOT_ALLOWED" else int(answer.status_code)
