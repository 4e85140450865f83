"""Parses JSON without keeping other requests of the process waiting.

The parser in C holds the interpreter until it is done, in whatever thread it runs. Its time depends on the number of
values, not on the length of texts.
"""

import json
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from app.core.errors import InvalidInput

FEW_COMMAS = 20_000
"""Parsed in C, within milliseconds."""
MOST_COMMAS = 1_000_000
MOST_NAMES = 1_000
"""Of one object in a body with many values: pydantic would describe each unknown one in an error."""


def _small_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_NAMES:
        raise InvalidInput("body", f"has an object with more than {MOST_NAMES:,} names")
    return dict(pairs)


class _InPython(json.JSONDecoder):
    """Lets other threads run between two values."""

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=_small_object)
        self.scan_once = py_make_scanner(self)


_in_python = _InPython()


def has_few_values(body: bytes) -> bool:
    return body.count(b",") <= FEW_COMMAS


def parsed(body: bytes, field: str = "body") -> Any:
    """Raises InvalidInput with this field."""
    if body.count(b",") > MOST_COMMAS:
        raise InvalidInput(field, f"has more than {MOST_COMMAS:,} commas")
    try:
        return json.loads(body) if has_few_values(body) else _in_python.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInput(field, "is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise InvalidInput(field, f"is not JSON: {problem.msg} at character {problem.pos}") from None
    except ValueError:
        raise InvalidInput(field, "has a number with too many digits") from None
    except RecursionError:
        raise InvalidInput(field, "is nested too deeply") from None
