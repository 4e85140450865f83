"""Blind judging by people: their invitations and sessions, and which debate is shown next."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, text

from app.core.access import GuestJudge
from app.core.judgments import PERSON
from app.core.players import JudgeOrder
from app.store.experiments.tables import experiments, judge_invitations, judge_sessions
from app.store.sessions import Invitations


@dataclass(frozen=True, slots=True)
class JudgeInvitation:
    id: UUID
    experiment_id: UUID
    judge: str
    invited_by: str
    salt: bytes
    is_expired: bool


@dataclass(frozen=True, slots=True)
class ToJudge:
    debate_id: UUID
    ticket: str
    """Identifies the debate on the judge's page without revealing its id."""
    order: JudgeOrder
    """Drawn, and always the same for this judge and debate."""


@dataclass(frozen=True, slots=True)
class JudgedCount:
    judged: int
    left: int


LINKS = Invitations(judge_invitations, judge_sessions)


def of_token(connection: Connection, token_hash: bytes) -> JudgeInvitation | None:
    row = connection.execute(_OF_TOKEN, {"token_hash": token_hash}).one_or_none()
    return JudgeInvitation(*row) if row else None


def of_session(connection: Connection, session_hash: bytes) -> GuestJudge | None:
    row = connection.execute(_OF_SESSION, {"hash": session_hash}).one_or_none()
    return GuestJudge(row.experiment_id, row.judge, bytes(row.salt), session_hash) if row else None


def next_debate(
    connection: Connection, experiment_id: UUID, judge: str, salt: bytes
) -> tuple[ToJudge | None, JudgedCount]:
    """Of the debates that this person has not judged, one that the fewest people have judged, drawn among those."""
    given = {"experiment_id": experiment_id, "judge": f"{PERSON}{judge}", "salt": salt}
    judged, left = connection.execute(_COUNTS, given).one()
    row = connection.execute(_NEXT, given).one_or_none()
    return (_to_judge(*row) if row else None), JudgedCount(judged, left)


def of_ticket(connection: Connection, experiment_id: UUID, salt: bytes, ticket: str) -> ToJudge | None:
    given = {"experiment_id": experiment_id, "salt": salt, "ticket": ticket}
    row = connection.execute(_OF_TICKET, given).one_or_none()
    return _to_judge(*row) if row else None


def _to_judge(debate_id: UUID, ticket: str, drawn: int) -> ToJudge:
    return ToJudge(debate_id, ticket, JudgeOrder.SWAPPED if drawn % 2 else JudgeOrder.AS_SPOKEN)


_OF_TOKEN = (
    select(
        judge_invitations.c.id,
        judge_invitations.c.experiment_id,
        judge_invitations.c.judge,
        judge_invitations.c.invited_by,
        judge_invitations.c.salt,
        judge_invitations.c.expires_at <= func.clock_timestamp(),
    )
    .join(experiments, experiments.c.id == judge_invitations.c.experiment_id)
    .where(judge_invitations.c.token_hash == bindparam("token_hash", type_=LargeBinary), LINKS.in_force)
)
_OF_SESSION = LINKS.of_session("experiment_id", "judge", "salt")
VALID = LINKS.valid_sessions
"""The sessions that have neither ended nor expired."""
# A debate without an argument or a transcript shows nothing to judge.
_OPEN = """
FROM matches LEFT JOIN (
    SELECT debate_id, count(DISTINCT judge) AS judges, bool_or(judge = :judge) AS is_judged
    FROM judgments WHERE experiment_id = :experiment_id AND judge_kind = 'person'
      AND through_round IS NULL GROUP BY debate_id
) AS people ON people.debate_id = matches.debate_id
WHERE matches.experiment_id = :experiment_id AND matches.status = 'completed'
  AND EXISTS (SELECT FROM turns WHERE turns.debate_id = matches.debate_id AND turns.type = 'CLAIM')
"""
_TICKET = "encode(sha256(CAST(:salt AS bytea) || uuid_send(matches.debate_id)), 'hex')"
_DRAWN = "get_byte(sha256(uuid_send(matches.debate_id) || CAST(:salt AS bytea)), 0)"
_COUNTS = text(f"""
SELECT count(*) FILTER (WHERE is_judged), count(*) FILTER (WHERE is_judged IS NOT TRUE) {_OPEN}
""")
_NEXT = text(f"""
SELECT matches.debate_id, {_TICKET}, {_DRAWN} {_OPEN}
  AND is_judged IS NOT TRUE ORDER BY coalesce(judges, 0), 2 LIMIT 1
""")
_OF_TICKET = text(f"""
SELECT matches.debate_id, {_TICKET}, {_DRAWN} FROM matches
WHERE matches.experiment_id = :experiment_id AND matches.status = 'completed' AND {_TICKET} = :ticket
""")  # noqa: S608 (only constants are put in)
