"""Judgments that an experiment's judges give: one for each order in which a match's debate can be shown."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from app.core.claims import share_of
from app.core.judgments import Judge
from app.store.rows import key_row

HAS_TWO_ORDERS = "(matches.opponent IS NOT NULL OR motions.answer_a IS NOT NULL)"
"""`app.core.debate.has_two_orders` of a match: two contestants speak, or its motion has answers."""
JOIN_ASKED = f"""
LEFT JOIN motions ON motions.experiment_id = matches.experiment_id AND motions.id = matches.motion_id
JOIN jsonb_to_recordset(CAST(:keys AS jsonb))
    AS asked (judge text, "order" text, repeat integer, through_round integer, setup jsonb, share text,
              has_two_orders boolean)
    ON asked.has_two_orders = {HAS_TWO_ORDERS}
"""
"""Each of the `matches` with the judgments that `:keys` (`asked_keys`) ask for."""


def asked_keys(judges: Sequence[Judge]) -> str:
    rows: list[dict[str, Any]] = [
        {
            **key_row(key),
            "setup": judge.setup.as_json(),
            "share": share_of(judge.setup, of_experiment=True),
            "has_two_orders": has_two_orders,
        }
        for judge in judges
        for has_two_orders in (True, False)
        for key in judge.keys(has_two_orders)
    ]
    return to_json(rows).decode()
