"""What workers keep of their exchanges with models."""

from uuid import uuid4

from harness import Place

from situations import rows

_SAID = {"number": 1, "system": "S", "messages": "[]", "settings": "{}", "model": "m", "answer": "A"}


def add_of_turn(place: Place, turn_id: str) -> None:
    rows.insert(place, "exchanges", turn_id=turn_id, **_SAID)


def add_of_judgment(place: Place, debate_id: str) -> str:
    """The id of a planned judgment of a model, with its exchange."""
    judgment_id, about = str(uuid4()), {"judge": "model", "order": "swapped", "setup": '{"player": "openai:m"}'}
    rows.insert(place, "judgments", id=judgment_id, debate_id=debate_id, status="planned", **about)
    rows.insert(place, "judgment_exchanges", judgment_id=judgment_id, **_SAID)
    return judgment_id
