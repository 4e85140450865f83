"""Rows as older versions left them, in plain SQL: today's code must not have to do with how they came about.

`fill` writes into every table that a revision has. A new table needs its rows here; test_migrations.py says so.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg

SCRIPTED = {"player": "scripted"}
EXTERNAL = {"player": "external"}
ROUNDS = dict.fromkeys(("proposer", "opponent", "arbitrator"), SCRIPTED)
DIALOGUE = dict.fromkeys(("proposer", "opponent", "arbitrator"), EXTERNAL)
VERDICT = {"winner": "tie", "scores": {"proposer": 5, "opponent": 5}, "reasoning": "Even", "stop": False}


@dataclass(frozen=True)
class OldDebate:
    """A debate, and the turns that it has: (round, actor, type)."""

    name: str
    format: str
    status: str
    cursor: tuple[int, str]
    turns: tuple[tuple[int | None, str, str], ...]
    stop_reason: str | None = None
    intervention_open: bool = False
    is_due: bool = False
    ruled_by: str = "scripted"
    """Who gave the last ruling."""


MOTION = (0, "debater_a", "MOTION")
FIRST = (1, "debater_a", "MOTION")
ROUND_1 = ((1, "debater_a", "CLAIM"), (1, "debater_b", "CLAIM"), (1, "judge", "RULING"))
ROUND_2 = ((2, "debater_a", "CLAIM"), (2, "debater_b", "CLAIM"), (2, "judge", "RULING"))
INTERVENTION = (None, "judge", "INTERVENTION")
ANSWER = (1, "debater_b", "CLAIM")
APPEAL = (2, "debater_a", "APPEAL")
DEBATES = (
    OldDebate("created", "rounds", "created", (1, "debater_a"), (MOTION,), is_due=True),
    OldDebate("running", "rounds", "running", (2, "debater_a"), (MOTION, *ROUND_1), is_due=True),
    OldDebate("claimed", "rounds", "running", (1, "judge"), (MOTION, *ROUND_1[:2])),
    OldDebate("paused", "rounds", "paused", (1, "debater_b"), (MOTION, ROUND_1[0])),
    OldDebate("completed", "rounds", "completed", (2, "debater_a"), (MOTION, *ROUND_1), "max_rounds"),
    OldDebate("stopped", "rounds", "stopped", (1, "debater_b"), (MOTION, ROUND_1[0]), "manual_stop"),
    OldDebate("failed", "rounds", "failed", (1, "judge"), (MOTION, *ROUND_1[:2])),
    OldDebate("answering", "rounds", "running", (1, "debater_b"), (MOTION, ROUND_1[0]), is_due=True),
    OldDebate("judged", "rounds", "completed", (3, "debater_a"), (MOTION, *ROUND_1, *ROUND_2), "max_rounds"),
    OldDebate(
        "decided", "rounds", "completed", (3, "debater_a"), (MOTION, *ROUND_1, *ROUND_2), "ruling", ruled_by="external"
    ),
    OldDebate("interrupted", "rounds", "running", (1, "judge"), (MOTION, ROUND_1[0], INTERVENTION), None, True),
    OldDebate("invited", "dialogue", "created", (1, "debater_b"), (FIRST,)),
    OldDebate("waiting", "dialogue", "running", (2, "debater_a"), (FIRST, ANSWER)),
    OldDebate("appealed", "dialogue", "running", (2, "judge"), (FIRST, ANSWER, APPEAL)),
    OldDebate("held", "dialogue", "paused", (2, "debater_a"), (FIRST, ANSWER)),
    OldDebate("broken", "dialogue", "failed", (2, "debater_a"), (FIRST, ANSWER)),
    OldDebate("ended", "dialogue", "stopped", (2, "debater_a"), (FIRST, ANSWER), "manual_stop"),
    OldDebate(
        "closed", "dialogue", "completed", (3, "debater_a"), (FIRST, ANSWER, APPEAL, (2, "judge", "RULING")), "ruling"
    ),
    OldDebate("intervened", "dialogue", "running", (1, "judge"), (FIRST, INTERVENTION), None, True),
    OldDebate(
        "resolved",
        "dialogue",
        "completed",
        (3, "debater_a"),
        (FIRST, (1, "debater_b", "CLAIM"), (2, "debater_a", "RESOLUTION"), (2, "judge", "RULING")),
        "resolution",
    ),
)


def fill(connection: "psycopg.Connection[Any]", tables: set[str]) -> dict[str, UUID]:
    """The ids of the debates, by their names."""
    ids = {debate.name: _write_debate(connection, debate) for debate in DEBATES}
    for names, write in _OTHERS:
        if names <= tables:
            write(connection, ids)
    return ids


def _write_debate(connection: "psycopg.Connection[Any]", debate: OldDebate) -> UUID:
    debate_id = uuid4()
    failed = debate.status == "failed"
    connection.execute(
        "INSERT INTO debates (id, title, debate_type, format, status, next_round, next_actor, intervention_open,"
        " stop_reason, last_error, seats, limits, turn_count, input_tokens, output_tokens, cost_usd, verdict, attempts,"
        " due_at) VALUES (%s, %s, 'general_debate', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 10, 20, 0.5, %s, %s,"
        " CASE WHEN %s THEN clock_timestamp() END)",
        (
            debate_id,
            f"The {debate.name} one, “ünïcode” 🙂",
            debate.format,
            debate.status,
            *debate.cursor,
            debate.intervention_open,
            debate.stop_reason,
            "The model did not answer" if failed else None,
            json.dumps(ROUNDS if debate.format == "rounds" else DIALOGUE),
            json.dumps({"max_rounds": 2} if debate.format == "rounds" else {}),
            len(debate.turns),
            json.dumps(VERDICT) if _has_verdict(debate) else None,
            5 if failed else 0,
            debate.is_due,
        ),
    )
    if debate.name == "claimed":
        # By a worker that is long gone.
        connection.execute(
            "UPDATE debates SET claim_token = %s, claimed_by = 'old:1:a', claim_expires_at = now() - interval '1 hour',"
            " due_at = now() - interval '1 hour' WHERE id = %s",
            (uuid4(), debate_id),
        )
    _write_turns(connection, debate, debate_id)
    return debate_id


def _has_verdict(debate: OldDebate) -> bool:
    """The automatic ruling after a resolution has none."""
    return debate.stop_reason != "resolution" and any(kind == "RULING" for _, _, kind in debate.turns)


def _player(debate: OldDebate, seq: int, kind: str) -> str:
    if kind == "RULING" and seq == len(debate.turns):
        return debate.ruled_by if debate.format == "rounds" else "external"
    return "external" if kind in ("MOTION", "INTERVENTION") or debate.format == "dialogue" else "scripted"


def _write_turns(connection: "psycopg.Connection[Any]", debate: OldDebate, debate_id: UUID) -> None:
    before = None
    for seq, (number, actor, kind) in enumerate(debate.turns, 1):
        turn_id = uuid4()
        is_ruling = kind == "RULING" and _has_verdict(debate)
        connection.execute(
            "INSERT INTO turns (id, debate_id, seq, round, actor, type, content, parent_id, client_request_id, verdict,"
            " player, usage) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                turn_id,
                debate_id,
                seq,
                number,
                actor,
                kind,
                f"Said as number {seq}: “ünïcode” 🙂",
                before,
                f"request-{seq}",
                json.dumps(VERDICT) if is_ruling else None,
                _player(debate, seq, kind),
                json.dumps({"input_tokens": 1, "output_tokens": 2, "cost_usd": 0.0, "latency_ms": 3}),
            ),
        )
        before = turn_id


def _write_worker(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO workers (id, seen_at) VALUES (%s, now() - interval '1 day')", (f"old:1:{uuid4().hex[:6]}",)
    )


def _write_lease(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO worker_leases (worker_id, renewed_at, expires_at) VALUES (%s, now(), now())",
        (f"old:1:{uuid4().hex[:6]}",),
    )


def _write_model_calls(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    name = f"provider-{uuid4().hex[:6]}"
    connection.execute("INSERT INTO providers (name, lowered_to, lowered_at) VALUES (%s, 3, now())", (name,))
    connection.execute(
        "INSERT INTO provider_slots (provider, worker_id, held, wanted, expires_at)"
        " VALUES (%s, 'old:1:a', 1, 2, now())",
        (name,),
    )
    connection.execute(
        "INSERT INTO daily_costs (day, reserved_usd, spent_usd)"
        " SELECT DATE '2020-01-01' + count(*)::int, 1.5, 2.5 FROM daily_costs"
    )


def _write_solutions(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    agent, solution, contribution = uuid4(), uuid4(), uuid4()
    connection.execute(
        "INSERT INTO agents (id, username, key_hash, key_hint, scopes)"
        " VALUES (%s, %s, %s, 'dbr_abcd', '{read,debate}')",
        (agent, f"agent-{agent}", agent.bytes * 2),
    )
    connection.execute(
        "UPDATE turns SET agent_id = %s, agent_username = 'somebody' WHERE debate_id = %s AND actor = 'debater_b'",
        (agent, ids["waiting"]),
    )
    connection.execute(
        "INSERT INTO solutions (id, agent_id, title, description, status, agent_debate_count)"
        " VALUES (%s, %s, 'Trams', 'More of them', 'debating', 1)",
        (solution, agent),
    )
    connection.execute(
        "INSERT INTO contributions (id, solution_id, position, agent_id, depth, stance, content, evidence_links,"
        " guardrail_status, upvotes) VALUES (%s, %s, 1, %s, 1, 'support', %s, '[]', 'approved', 1)",
        (contribution, solution, agent, "Because the streets belong to everybody who walks in them, too."),
    )
    connection.execute("INSERT INTO upvotes (contribution_id, agent_id) VALUES (%s, %s)", (contribution, agent))
    connection.execute(
        "INSERT INTO guardrail_evaluations (id, contribution_id, verdict, evaluator, evaluated_at, due_at)"
        " VALUES (%s, %s, 'approved', 'rules', now(), NULL)",
        (uuid4(), contribution),
    )


def _write_solution_decisions(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO guardrail_evaluations (id, solution_id, verdict, evaluator, evaluated_at, due_at)"
        " SELECT gen_random_uuid(), id, 'approved', 'rules', now(), NULL FROM solutions"
        " ON CONFLICT DO NOTHING"
    )
    connection.execute("UPDATE solutions SET guardrail_status = 'rejected'")
    connection.execute(
        "INSERT INTO solution_decisions (id, solution_id, decision, decided_by, reason)"
        " SELECT gen_random_uuid(), id, 'rejected', 'operator', 'It names a person' FROM solutions"
    )


def _write_session(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute("INSERT INTO sessions (hash, expires_at) VALUES (%s, now())", (uuid4().bytes * 2,))


def _write_material(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    document = uuid4().bytes * 2
    connection.execute("INSERT INTO materials (hash, document) VALUES (%s, 'The mill closed in 1987.')", (document,))
    material = json.dumps({"document_bytes": 24, "visible_to": ["proposer"]})
    connection.execute(
        "UPDATE debates SET document_hash = %s, material = %s, tags = '{mills}' WHERE id = %s",
        (document, material, ids["running"]),
    )
    connection.execute(
        "INSERT INTO debate_events (debate_id, at, kind, by) VALUES (%s, now(), 'paused', 'operator')", (ids["paused"],)
    )


def _write_exchange(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO exchanges (turn_id, number, system, messages, settings, model, answer)"
        " SELECT id, 1, 'You are the judge', '[]', '{}', 'gpt', 'Even' FROM turns WHERE debate_id = %s AND seq = 4",
        (ids["running"],),
    )


def _write_prompt_set(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO prompt_sets (name, hash, base, files) VALUES (%s, 'abc', 'v2', %s)",
        (f"set-{uuid4().hex[:6]}", json.dumps({"persona": "You are $persona"})),
    )


def _write_judgment(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    connection.execute(
        'INSERT INTO judgments (id, debate_id, judge, "order", setup, status, verdict, judged_at)'
        " VALUES (%s, %s, 'person:ana', 'swapped', %s, 'completed', %s, now())",
        (uuid4(), ids["completed"], json.dumps(EXTERNAL), json.dumps(VERDICT)),
    )


def _write_judgment_exchange(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO judgment_exchanges (judgment_id, number, system, messages, settings, model, answer)"
        " SELECT id, 1, 'You are the judge', '[]', '{}', 'gpt', 'Even' FROM judgments WHERE debate_id = %s",
        (ids["completed"],),
    )


def _write_experiment(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    experiment = uuid4()
    connection.execute(
        "INSERT INTO experiments (id, name, spec, arbitrator, concurrency, created_by)"
        " VALUES (%s, %s, '{}', '{}', 1, 'operator')",
        (experiment, str(experiment)),
    )
    connection.execute(
        "INSERT INTO motions (experiment_id, id, position, motion) VALUES (%s, 'm1', 1, 'A motion.')", (experiment,)
    )
    connection.execute(
        "INSERT INTO matches (experiment_id, key, position, arm, motion_id, repeat, status, debate_id)"
        " VALUES (%s, 'k', 1, '', 'm1', 1, 'completed', %s)",
        (experiment, ids["completed"]),
    )
    connection.execute(
        "INSERT INTO reservations (id, experiment_id, worker_id, amount_usd) VALUES (%s, %s, 'old:1:a', 0.5)",
        (uuid4(), experiment),
    )


def _write_invitation(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    invitation = uuid4()
    connection.execute(
        "INSERT INTO invitations (id, debate_id, role, token_hash, invited_by, expires_at)"
        " VALUES (%s, %s, 'opponent', %s, 'operator', now())",
        (invitation, ids["completed"], uuid4().bytes * 2),
    )
    connection.execute(
        "INSERT INTO guest_sessions (hash, invitation_id, expires_at) VALUES (%s, %s, now())",
        (uuid4().bytes * 2, invitation),
    )


def _write_judge_invitation(connection: "psycopg.Connection[Any]", _ids: dict[str, UUID]) -> None:
    invitation = uuid4()
    connection.execute(
        "INSERT INTO judge_invitations (id, experiment_id, judge, token_hash, salt, invited_by, expires_at)"
        " SELECT %s, id, 'ana', %s, %s, 'operator', now() FROM experiments LIMIT 1",
        (invitation, uuid4().bytes * 2, uuid4().bytes * 2),
    )
    connection.execute(
        "INSERT INTO judge_sessions (hash, invitation_id, expires_at) VALUES (%s, %s, now())",
        (uuid4().bytes * 2, invitation),
    )


def _write_call_under_way(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO model_calls (id, claim, worker_id, debate_id, input_tokens, cost_usd)"
        " VALUES (%s, %s, 'old:1:a', %s, 300, 0.25)",
        (uuid4(), uuid4(), ids["completed"]),
    )


def _write_words(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO indexed_turns SELECT debate_id, seq, strip(turn_words(content)) FROM turns WHERE debate_id = %s",
        (ids["completed"],),
    )
    connection.execute(
        "INSERT INTO text_index (indexed_until, next_pass_at) VALUES ('epoch', 'epoch') ON CONFLICT DO NOTHING"
    )


def _write_webhook(connection: "psycopg.Connection[Any]", ids: dict[str, UUID]) -> None:
    webhook = uuid4()
    connection.execute(
        "INSERT INTO webhooks (id, url, events, secret) VALUES (%s, 'https://e.org', '{debate.started}', 'whsec_')",
        (webhook,),
    )
    connection.execute(
        "INSERT INTO webhook_deliveries (id, webhook_id, debate_id, event, data) VALUES (%s, %s, %s, 'x', '{}')",
        (uuid4(), webhook, ids["completed"]),
    )


def _write_quota(connection: "psycopg.Connection[Any]", _: dict[str, UUID]) -> None:
    connection.execute(
        "INSERT INTO agent_quotas (agent_id, day, bytes, usd) SELECT id, DATE '2020-01-01', 7, 0.5 FROM agents"
        " ON CONFLICT DO NOTHING"
    )


_OTHERS = [
    ({"materials", "debate_events"}, _write_material),
    ({"exchanges"}, _write_exchange),
    ({"prompt_sets"}, _write_prompt_set),
    ({"webhooks", "webhook_deliveries"}, _write_webhook),
    ({"experiments", "motions", "matches", "reservations"}, _write_experiment),
    ({"judge_invitations", "judge_sessions"}, _write_judge_invitation),
    ({"invitations", "guest_sessions"}, _write_invitation),
    ({"judgments"}, _write_judgment),
    ({"judgment_exchanges"}, _write_judgment_exchange),
    ({"sessions"}, _write_session),
    ({"workers"}, _write_worker),
    ({"worker_leases"}, _write_lease),
    ({"providers", "provider_slots", "daily_costs"}, _write_model_calls),
    ({"model_calls"}, _write_call_under_way),
    ({"indexed_turns", "text_index"}, _write_words),
    ({"agents", "solutions", "contributions", "upvotes", "guardrail_evaluations"}, _write_solutions),
    ({"agent_quotas"}, _write_quota),
    ({"solution_decisions"}, _write_solution_decisions),
]
