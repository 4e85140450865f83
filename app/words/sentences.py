"""The first letter of a text, for its place in a sentence."""


def as_start(text: str) -> str:
    return text[:1].upper() + text[1:]


def as_part(text: str) -> str:
    return text[:1].lower() + text[1:]
