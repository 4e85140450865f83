"""How many of something."""


def number(value: int) -> str:
    return f"{value:,}"


def count(value: int, noun: str, plural: str | None = None) -> str:
    return f"1 {noun}" if value == 1 else f"{number(value)} {plural or noun + 's'}"
