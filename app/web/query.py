"""What the address of a list says: filters, order and place. An address that means nothing gets told so."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from app.core.debate import State, Status
from app.core.errors import InvalidInput
from app.core.formats import Format
from app.store.listing import Filters

LONGEST_SEARCH = 200
SORTS = {"latest": "Last activity first", "oldest": "Longest quiet first"}
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ListQuery:
    filters: Filters
    oldest_first: bool
    cursor: str | None

    @property
    def is_filtered(self) -> bool:
        return self.filters != Filters()

    def address(self, **changes: str | None) -> str:
        """The list with something changed. Another list has another beginning, so the cursor goes unless named."""
        filters = self.filters
        said = {
            "q": filters.q,
            "status": filters.status,
            "state": filters.state,
            "format": filters.format,
            "sort": "oldest" if self.oldest_first else None,
            **changes,
        }
        query = urlencode({name: value for name, value in said.items() if value})
        return f"/?{query}" if query else "/"


def list_query(given: Mapping[str, str]) -> ListQuery:
    sort = given.get("sort") or "latest"
    if sort not in SORTS:
        raise InvalidInput("sort", f"must be one of {', '.join(SORTS)}")
    q = given.get("q", "").strip()
    if len(q) > LONGEST_SEARCH or "\0" in q:
        raise InvalidInput("q", f"must be at most {LONGEST_SEARCH} characters, and none of them NUL")
    filters = Filters(
        state=_choice(given, "state", State),
        status=_choice(given, "status", Status),
        format=_choice(given, "format", Format),
        q=q or None,
    )
    return ListQuery(filters, sort == "oldest", given.get("cursor") or None)


def seq(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidInput(name, "must be the number of a turn")
    return int(text)


def uuid_of(text: str, what: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"{what}_id", f"is not the id of a {what}") from None


def _choice(given: Mapping[str, str], name: str, choices: type[Choice]) -> Choice | None:
    text = given.get(name)
    if not text:
        return None
    try:
        return choices(text)
    except ValueError:
        raise InvalidInput(name, f"must be one of {', '.join(choices)}") from None
