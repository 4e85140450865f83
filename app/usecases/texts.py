"""The rules for every text that somebody sends."""

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
