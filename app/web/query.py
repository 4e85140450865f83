"""Parses the query strings of pages: filters, order and page cursor. Invalid values raise InvalidInput."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from app.core.debate import State, Status
from app.core.errors import InvalidInput
from app.core.schedules import BUILT_IN
from app.store.listing import Filters

LONGEST_SEARCH = 200
SORTS = {
    "latest": "Latest activity",
    "oldest": "Oldest activity",
    "newest": "Newest first",
    "eldest": "Oldest first",
    "cost": "Most expensive",
    "rounds": "Most rounds",
}
BY_ACTIVITY = ("latest", "oldest")
COLUMNS = {"now": "Now", "progress": "Progress", "cost": "Cost", "when": "Last activity", "tags": "Tags"}
"""Columns that can be hidden; tags can only be shown."""
SHOWN = ("now", "progress", "cost", "when")
LONGEST_NAME = 60
READER_CHOICES = {"theme": ("light", "dark"), "layout": ("one",), "texts": ("plain",), "density": ("compact",)}
"""What a reader has switched, as a cookie of that name; anything else is the default. shell.js sets them."""
Choice = TypeVar("Choice", bound=StrEnum)


def choice_of_reader(cookies: Mapping[str, str], name: str) -> str:
    chosen = cookies.get(name, "")
    return chosen if chosen in READER_CHOICES[name] else ""


@dataclass(frozen=True, slots=True)
class DashboardQuery:
    filters: Filters
    sort: str
    cursor: str | None
    backwards: bool
    columns: tuple[str, ...]
    view: str
    """The name under which somebody saved this list."""

    @property
    def oldest_first(self) -> bool:
        return self.sort == "oldest"

    @property
    def is_filtered(self) -> bool:
        return self.filters != Filters()

    @property
    def search(self) -> str:
        return self.filters.id or self.filters.q or ""

    def chosen(self) -> dict[str, str]:
        """What was chosen besides the search, by the names of the address."""
        filters = self.filters
        said = {
            "status": ",".join(filters.status),
            "state": ",".join(filters.state),
            "format": filters.format,
            "kind": filters.debate_type,
            "player": filters.player,
            "winner": filters.winner,
            "tag": filters.tag,
            "experiment": str(filters.experiment) if filters.experiment else None,
            "error": "true" if filters.error else None,
            "since": f"{filters.since:%Y-%m-%d}" if filters.since else None,
            "until": f"{filters.until - DAY:%Y-%m-%d}" if filters.until else None,
            "sort": self.sort if self.sort != "latest" else None,
            "columns": ",".join(self.columns) if self.columns != SHOWN else None,
        }
        return {name: value for name, value in said.items() if value}

    def address(self, **changes: str | None) -> str:
        """The list's URL with these changes. Without the page cursor, unless given: it belongs to this list only."""
        said = {"q": self.search, **self.chosen(), "view": self.view, **changes}
        return with_query("/", said)

    def with_status(self, status: str) -> str:
        """The list's URL with this status as well, or without it."""
        now = [each.value for each in Status if (each in self.filters.status) != (each.value == status)]
        return self.address(status=",".join(now))


def list_query(given: Mapping[str, str]) -> DashboardQuery:
    sort = given.get("sort") or "latest"
    if sort not in SORTS:
        raise InvalidInput("sort", f"must be one of {', '.join(SORTS)}")
    q = _text(given, "q")
    until = _day(given, "until")
    filters = Filters(
        state=_choices(given, "state", State),
        status=_choices(given, "status", Status),
        format=_one_of(given, "format", list(BUILT_IN)),
        debate_type=_one_of(given, "kind", KINDS),
        id=q if _is_id(q) else None,
        q=None if _is_id(q) else q or None,
        texts=bool(q) and not _is_id(q),
        player=_text(given, "player") or None,
        winner=_one_of(given, "winner", WINNERS),
        tag=_text(given, "tag") or None,
        experiment=uuid_of(given["experiment"], "experiment") if given.get("experiment") else None,
        error=_one_of(given, "error", ("true",)) is not None,
        since=_day(given, "since"),
        # The last day is part of what was asked for.
        until=until + DAY if until else None,
    )
    columns = tuple(name for name in given.get("columns", ",".join(SHOWN)).split(",") if name in COLUMNS)
    backwards = bool(given.get("before"))
    cursor = given.get("before") or given.get("cursor") or None
    return DashboardQuery(filters, sort, cursor, backwards, columns, _text(given, "view")[:LONGEST_NAME])


KINDS = ("general_debate", "coding_plan_debate")
WINNERS = ("proposer", "opponent", "tie")
DAY = timedelta(days=1)


def _is_id(text: str) -> bool:
    """Whether a search is for an id: eight of its characters or more, as tables show them."""
    return re.fullmatch(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]){0,24}", text) is not None


def _text(given: Mapping[str, str], name: str) -> str:
    text = given.get(name, "").strip()
    if len(text) > LONGEST_SEARCH or "\0" in text:
        raise InvalidInput(name, f"must be at most {LONGEST_SEARCH} characters, and none of them NUL")
    return text


def _one_of(given: Mapping[str, str], name: str, choices: Collection[str]) -> str | None:
    text = given.get(name) or None
    if text is not None and text not in choices:
        raise InvalidInput(name, f"must be one of {', '.join(choices)}")
    return text


def _day(given: Mapping[str, str], name: str) -> datetime | None:
    """Midnight (UTC) at which that day begins."""
    text = given.get(name)
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(name, "must be a day: 2026-01-31") from None


def with_query(path: str, said: Mapping[str, str | None]) -> str:
    """Without what is empty."""
    query = urlencode({name: value for name, value in said.items() if value})
    return f"{path}?{query}" if query else path


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


def _choices(given: Mapping[str, str], name: str, choices: type[Choice]) -> tuple[Choice, ...]:
    """Several by comma."""
    found = [_one_of({name: part}, name, list(choices)) for part in given.get(name, "").split(",")]
    return tuple(choices(part) for part in found if part is not None)
