"""What each agent's key has stored and spent on a day. Days are the database's, in UTC."""

from uuid import UUID

from sqlalchemy import BigInteger, Connection, Double, bindparam, text

_ADD = text("""
INSERT INTO agent_quotas AS known (agent_id, day, bytes, usd)
SELECT :agent_id, (clock_timestamp() AT TIME ZONE 'UTC')::date, greatest(0, :bytes), :usd WHERE :bytes <= :most
ON CONFLICT (agent_id, day) DO UPDATE SET bytes = greatest(0, known.bytes + :bytes), usd = known.usd + :usd
WHERE known.bytes + :bytes <= :most
RETURNING day
""").bindparams(bindparam("bytes", 0, BigInteger), bindparam("usd", 0.0, Double), bindparam("most", 2**62, BigInteger))
_SPENT = text("""
SELECT usd FROM agent_quotas
WHERE agent_id = :agent_id AND day = (clock_timestamp() AT TIME ZONE 'UTC')::date
""")
_SECONDS_LEFT = text("""
SELECT extract(epoch FROM date_trunc('day', now) + interval '1 day' - now)::double precision
FROM (SELECT clock_timestamp() AT TIME ZONE 'UTC' AS now) AS clock
""")
# Who asked for a judgment pays for it; else who owns the experiment; else who created the debate.
_PAYER = text("""
SELECT agents.id FROM agents JOIN (
    SELECT coalesce(judgments.asked_by, experiments.created_by, debates.created_by) AS created_by
    FROM debates
    LEFT JOIN judgments ON judgments.id = :judgment_id AND judgments.debate_id = debates.id
    LEFT JOIN experiments ON experiments.id = debates.experiment_id
    WHERE debates.id = coalesce(:debate_id, (SELECT debate_id FROM judgments WHERE id = :judgment_id))
) AS paid ON CAST(agents.id AS text) = paid.created_by
""")
_ASKED = text("""
UPDATE judgments SET asked_by = CAST(:agent_id AS text)
WHERE debate_id = :debate_id AND judge = :judge AND status = 'planned' AND asked_by IS NULL
""")


def take_bytes(connection: Connection, agent_id: UUID, count: int, most: int) -> bool:
    """Counts them. False, and nothing counted, beyond `most` on this day."""
    return connection.execute(_ADD, {"agent_id": agent_id, "bytes": count, "most": most}).first() is not None


def give_back_bytes(connection: Connection, agent_id: UUID, count: int) -> None:
    connection.execute(_ADD, {"agent_id": agent_id, "bytes": -count})


def spent_usd(connection: Connection, agent_id: UUID) -> float:
    return connection.execute(_SPENT, {"agent_id": agent_id}).scalar_one_or_none() or 0.0


def spend(connection: Connection, agent_id: UUID, usd: float) -> None:
    connection.execute(_ADD, {"agent_id": agent_id, "usd": usd})


def seconds_left(connection: Connection) -> float:
    """Of this day."""
    found: float = connection.execute(_SECONDS_LEFT).scalar_one()
    return found


def payer_of(connection: Connection, debate_id: UUID | None, judgment_id: UUID | None) -> UUID | None:
    """The agent whose quota a call counts towards; None for the operator's."""
    return connection.execute(_PAYER, {"debate_id": debate_id, "judgment_id": judgment_id}).scalar_one_or_none()


def note_asked(connection: Connection, agent_id: UUID, debate_id: UUID, judge: str) -> None:
    """That this agent pays for the judgments of the judge that are planned."""
    connection.execute(_ASKED, {"agent_id": agent_id, "debate_id": debate_id, "judge": judge})
