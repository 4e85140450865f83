"""Rules for texts: what callers may send, and how models' answers are made storable."""

from app.core.debate import Usage
from app.core.errors import ContentTooLarge, InvalidInput


def checked_text(field: str, text: str, max_bytes: int) -> str:
    if not text.strip():
        raise InvalidInput(field, "must not be empty or only blanks")
    if "\x00" in text:
        raise InvalidInput(field, "must not hold a NUL character")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        # JSON can spell half of a surrogate pair; UTF-8, and so Postgres, cannot.
        raise InvalidInput(field, "must be valid Unicode (it holds a lone surrogate)") from None
    if size > max_bytes:
        raise ContentTooLarge(field, size, max_bytes)
    return text


FORMULA_STARTS = "=+-@"
"""A spreadsheet takes a cell that begins so for a formula. Names are in every row of an export."""


def why_bad_name(name: str) -> str | None:
    """Why this cannot name a judge or a contestant; None if it can."""
    if not name.isprintable():
        return "has characters that cannot be printed"
    if name.lstrip().startswith(tuple(FORMULA_STARTS)):
        return f"must not begin with one of {' '.join(FORMULA_STARTS)}"
    return None


def checked_name(field: str, name: str, max_bytes: int) -> str:
    problem = why_bad_name(checked_text(field, name, max_bytes))
    if problem:
        raise InvalidInput(field, problem)
    return name


# A model's answer may contain what Postgres cannot store: a NUL, half of a surrogate pair, a number beyond its column.
# It was paid for, so it is made storable instead of being refused.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MOST_TOKENS = 10**12
"""Of one turn. Millions of such turns would be needed to overflow the debate's total."""
MOST_COST_USD = 1e9


def storable_text(text: str) -> str:
    """Replaces each NUL and each lone surrogate. The two halves of a surrogate pair become one character."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", REPLACEMENT)


def storable_usage(usage: Usage) -> Usage:
    latency_ms = None if usage.latency_ms is None else int(_within(usage.latency_ms, MOST_TOKENS))
    return Usage(
        int(_within(usage.input_tokens, MOST_TOKENS)),
        int(_within(usage.output_tokens, MOST_TOKENS)),
        _within(usage.cost_usd, MOST_COST_USD),
        latency_ms,
        usage.context_shortened,
        usage.over_limit,
        int(_within(usage.cached_tokens, MOST_TOKENS)),
    )


def _within(number: float, most: float) -> float:
    if 0 <= number <= most:
        return number
    return most if number > most else 0  # 0 also for what is not a number
