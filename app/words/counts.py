"""Numbers and counts."""


def number(value: int) -> str:
    return f"{value:,}"


def count(value: int, noun: str, plural: str | None = None) -> str:
    return f"1 {noun}" if value == 1 else f"{number(value)} {plural or noun + 's'}"


def attempt(number: int, allowed: int | None) -> str:
    """ "2 of 5". Retries of a busy provider do not count, so there may be more attempts than the allowed number."""
    return f"{number} of {allowed}" if allowed and number <= allowed else str(number)
