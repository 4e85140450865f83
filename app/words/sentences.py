"""Changes the case of a text's first letter."""


def as_start(text: str) -> str:
    return text[:1].upper() + text[1:]


def as_part(text: str) -> str:
    return text[:1].lower() + text[1:]
