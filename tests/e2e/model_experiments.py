"""Experiments between models about questions with documents, and a provider that counts what it reads."""

import random
from collections.abc import Callable
from typing import Any

from model_server import Call

GPT, CLAUDE, JUDGE = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-6", "openai:gpt-4o"
ARMS: dict[str, dict[str, Any]] = {
    "debate": {"format": "final_ruling", "rounds": 3},
    "at_once": {"format": "simultaneous", "rounds": 2},
    "interactive": {"format": "interactive", "rounds": 2},
    "consultancy": {"format": "consultancy", "rounds": 2},
    "blind": {"format": "direct"},
    "informed": {"format": "direct", "document_visible_to": ["arbitrator"]},
}


def motions(
    count: int, sentences: Callable[[random.Random], int], seed: int = 1, first: int = 0
) -> list[dict[str, Any]]:
    """The documents have that many sentences."""
    chance = random.Random(seed)
    return [
        {
            "id": f"q{n}",
            "motion": f"Which key opens the door of house {n}?",
            "document": f"House {n}. " + "It was a long street, and nobody had the key. " * sentences(chance),
            "answer_a": "the brass key",
            "answer_b": "the iron key",
            "correct": chance.choice("ab"),
        }
        for n in range(first, first + count)
    ]


def of_its_length(call: Call) -> dict[str, int]:
    """Four characters are a token; a judge that is asked for an answer's shape also reads that shape. What is said has
    another length every time."""
    sent = (len(call.instructions) + len(call.text) + len(str(call.shape or ""))) // 4
    said = random.Random(call.text).randint(30, 90) + (40 if call.shape else 0)
    if call.wire == "anthropic":
        return {"input_tokens": sent, "output_tokens": said}
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}
