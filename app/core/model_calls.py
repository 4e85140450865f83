"""Calls to models: how large one may be, and how many may run concurrently."""

from collections.abc import Mapping, Sequence

from app.core.players import LOCAL, SeatSetup, Thinking

BYTES_PER_TOKEN = 3
"""A low estimate over many languages: how much text fits, and the tokens of a call that the provider did not count."""
BYTES_PER_SPOKEN_TOKEN = 4
"""A typical value: estimates the length of a text from its tokens."""
UNKNOWN_WINDOW_TOKENS = 100_000
"""The context window of a model that the price table does not know."""
LOCAL_CONTEXT_TOKENS = 2_000
"""How much of the debate the local model is shown."""
LEAST_CONTEXT_TOKENS = 1_000
"""How much of the debate any other model is shown at least, even where the answer's max_tokens would leave less."""
MAX_TOKENS = 4_096
"""The default for an answer, including a model's hidden reasoning."""
LOCAL_MAX_TOKENS = 300
THINKING_TOKENS = {Thinking.LOW: 4_096, Thinking.MEDIUM: 12_000, Thinking.HIGH: 24_000}
"""Added to the default for an answer: room for what a model thinks to itself."""
OVERHEAD_TOKENS = 1_000
"""What a provider adds to a request: its chat template and its instructions for structured output."""
INSTRUCTIONS_BYTES = 4_000
"""More than the longest instructions of a seat with the schema of its answer, without the persona."""


def usual_max_tokens(player: str) -> int:
    return LOCAL_MAX_TOKENS if player == LOCAL else MAX_TOKENS


def answer_tokens(setup: SeatSetup) -> int:
    """The most tokens of one answer in this seat, with what the model thinks to itself."""
    if setup.max_tokens:
        return setup.max_tokens
    thinks = THINKING_TOKENS[Thinking(setup.thinking)] if setup.thinking and setup.player != LOCAL else 0
    return usual_max_tokens(setup.player) + thinks


def context_tokens(
    player: str, window: int | None, cap: int | None, answer_tokens: int, instructions_bytes: int
) -> int:
    """How much of the debate fits into a prompt: the model's window (None if unknown), less the answer and what
    surrounds the debate, and never more than the cap."""
    if player == LOCAL:
        return LOCAL_CONTEXT_TOKENS
    around = OVERHEAD_TOKENS + instructions_bytes // BYTES_PER_TOKEN
    room = max(LEAST_CONTEXT_TOKENS, (window or UNKNOWN_WINDOW_TOKENS) - answer_tokens - around)
    return min(room, cap) if cap else room


def most_input_tokens(size_bytes: int) -> int:
    """An upper bound, whatever the text is: no tokenizer makes more than one token of a byte."""
    return size_bytes + OVERHEAD_TOKENS


def most_input_tokens_of_a_turn(shown_tokens: int, transcript_bytes: int | None, persona_bytes: int) -> int:
    """Of any turn of a debate: what is shown of it is bounded by the context and, where that is known, by how long its
    transcript can become."""
    shown_bytes = shown_tokens * BYTES_PER_TOKEN
    if transcript_bytes is not None:
        shown_bytes = min(shown_bytes, transcript_bytes)
    return most_input_tokens(shown_bytes + INSTRUCTIONS_BYTES + persona_bytes)


# How many calls each worker process may have in flight, so that all together stay within a provider's limit.
RECOVERY_SECONDS = 30.0
"""A limit lowered after HTTP 429 returns to its configured value after this."""
MOST_LOWERED = 0.5


def lowered(limit: int, refused_share: float) -> int:
    """The limit after HTTP 429: less by the share of the latest calls that were refused, and at most by half. Halved
    each time, it would stay near a third where one call in sixty is refused at random."""
    return max(1, round(limit * (1 - min(refused_share, MOST_LOWERED))))


def recovered(configured: int, lowered_to: int, seconds: float) -> int:
    """The limit some time after it was lowered: it grows back linearly."""
    grown = lowered_to + configured * max(0.0, seconds) / RECOVERY_SECONDS
    return min(configured, int(grown))


def fair_shares(limit: int, wanted: Mapping[str, int], first: int) -> dict[str, int]:
    """Slots for each process, dealt round robin until none is left or every process has what it wants.

    `first` rotates who is served first: it grows over time, so that no process is always last.
    """
    shares = dict.fromkeys(wanted, 0)
    queue = _rotated(sorted(name for name, count in wanted.items() if count > 0), first)
    while queue and limit > 0:
        served = queue[:limit]
        for name in served:
            shares[name] += 1
        limit -= len(served)
        queue = [name for name in queue if shares[name] < wanted[name]]
    return shares


def _rotated(names: Sequence[str], first: int) -> list[str]:
    start = first % len(names) if names else 0
    return [*names[start:], *names[:start]]


def allowed(limit: int, share: int, held_by_others: int) -> int:
    """What a process may hold now: its share, less what other processes still hold beyond theirs."""
    return max(0, min(share, limit - held_by_others))
