"""Judgments that an experiment's judges give: one for each order in which a match's debate can be shown."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from app.core.claims import share_of
from app.core.judgments import Judge
from app.store.rows import key_row

HAS_TWO_ORDERS = "(matches.opponent IS NOT NULL OR motions.answer_a IS NOT NULL)"
"""`app.core.debate.has_two_orders` of a match: two contestants speak, or its motion has answers."""
LAST_ROUND = "(SELECT max(round) FROM turns WHERE turns.debate_id = {debate} AND turns.type = 'CLAIM')"
"""Of the speeches of a debate; NULL where there are none."""
JOIN_ASKED = f"""
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
JOIN jsonb_to_recordset(CAST(:keys AS jsonb))
    AS asked (judge text, "order" text, repeat integer, beliefs boolean, setup jsonb, share text,
              has_two_orders boolean)
    ON asked.has_two_orders = {HAS_TWO_ORDERS}
CROSS JOIN LATERAL (
    SELECT NULL::integer AS through_round
    UNION ALL SELECT generate_series(0, {LAST_ROUND.format(debate="matches.debate_id")} - 1) WHERE asked.beliefs
) AS parts
"""
"""Each of the `matches` with the judgments that `:keys` (`asked_keys`) ask for."""


def asked_keys(judges: Sequence[Judge]) -> str:
    rows: list[dict[str, Any]] = [
        {
            **key_row(key),
            "beliefs": judge.beliefs,
            "setup": judge.setup.as_json(),
            "share": share_of(judge.setup, of_experiment=True),
            "has_two_orders": has_two_orders,
        }
        for judge in judges
        for has_two_orders in (True, False)
        for key in judge.keys(has_two_orders)
    ]
    return to_json(rows).decode()
