"""Parses the query strings of pages: filters, order and page cursor. Invalid values raise InvalidInput."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from flask import request
from pydantic import Field, ValidationError

from app.core.debate import Status
from app.core.errors import InvalidInput
from app.http.errors import first_problem
from app.http.requests import DebateType, ListQuery, Query
from app.store.listing import Filters

SORTS = {
    "latest": "Latest activity",
    "oldest": "Oldest activity",
    "newest": "Newest first",
    "eldest": "Oldest first",
    "cost": "Most expensive",
    "rounds": "Most rounds",
}
BY_ACTIVITY = ("latest", "oldest")
COLUMNS = {"now": "Now", "progress": "Progress", "tags": "Tags", "cost": "Cost", "when": "Last activity"}
"""Columns that can be hidden; tags can only be shown."""
SHOWN = ("now", "progress", "cost", "when")
LONGEST_NAME = 60
READER_CHOICES = {"theme": ("light", "dark"), "layout": ("one",), "texts": ("plain",), "density": ("compact",)}
"""A reader's choices, each in a cookie that shell.js sets. Other values mean the default."""
DAY = timedelta(days=1)


def choice_of_reader(cookies: Mapping[str, str], name: str) -> str:
    chosen = cookies.get(name, "")
    return chosen if chosen in READER_CHOICES[name] else ""


@dataclass(frozen=True, slots=True)
class DashboardQuery:
    filters: Filters
    asked: dict[str, str]
    """The filters by their names in the list's URL."""
    matching: str
    """The same filters as a query of the API."""
    sort: str
    cursor: str | None
    backwards: bool
    columns: tuple[str, ...]
    view: str
    """The name of a saved view."""

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
        """The choices other than the search, by their names in the URL."""
        columns = ",".join(self.columns) if self.columns != SHOWN else ""
        said = {**self.asked, "sort": self.sort if self.sort != "latest" else "", "columns": columns}
        return {name: value for name, value in said.items() if value}

    def heads(self) -> list[tuple[str, str]]:
        """The titles of the columns that are shown, with the class of each."""
        return [
            (title, "number" if name in ("cost", "when") else "")
            for name, title in COLUMNS.items()
            if name in self.columns
        ]

    def address(self, **changes: str | None) -> str:
        """The list's URL with these changes, without the page cursor unless given."""
        said = {"q": self.search, **self.chosen(), "view": self.view, **changes}
        return with_query("/", said)

    def with_status(self, status: str) -> str:
        """The list's URL with this status added or removed."""
        now = [each.value for each in Status if (each in self.filters.status) != (each.value == status)]
        return self.address(status=",".join(now))


class _Filters(ListQuery):
    debate_type: DebateType | None = Field(None, alias="kind")


def list_query(given: Mapping[str, str]) -> DashboardQuery:
    sort = given.get("sort") or "latest"
    if sort not in SORTS:
        raise InvalidInput("sort", f"must be one of {', '.join(SORTS)}")
    asked = {name: given.get(name, "").strip() for name in FILTERS}
    q = given.get("q", "").strip()
    search = {"id": q} if _is_id(q) else {"q": q, "texts": "true" if q else ""}
    # The last day is part of what was asked for.
    days = {"since": _day(given, "since"), "until": _day(given, "until", DAY)}
    filters = parsed(_Filters, {**asked, **search, **days}).filters()
    columns = tuple(name for name in given.get("columns", ",".join(SHOWN)).split(",") if name in COLUMNS)
    return DashboardQuery(
        filters,
        asked,
        with_query("", {**asked, **search, **days, "debate_type": asked["kind"], "kind": None}).removeprefix("?"),
        sort,
        given.get("before") or given.get("cursor") or None,
        bool(given.get("before")),
        columns,
        given.get("view", "").strip()[:LONGEST_NAME],
    )


FILTERS = ("status", "state", "format", "kind", "player", "winner", "tag", "experiment", "error", "since", "until")
AsQuery = TypeVar("AsQuery", bound=Query)


def parsed(shape: type[AsQuery], given: Mapping[str, str]) -> AsQuery:
    """As the API parses its queries. Other names are ignored."""
    known = {field.alias or name for name, field in shape.model_fields.items()}
    try:
        return shape.model_validate({name: value for name, value in given.items() if name in known})
    except ValidationError as problem:
        raise first_problem(problem) from None


def cursor() -> str | None:
    return request.args.get("cursor") or None


def _is_id(text: str) -> bool:
    """Whether the search is the first eight or more characters of an id."""
    return re.fullmatch(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]){0,24}", text) is not None


def _day(given: Mapping[str, str], name: str, after: timedelta = timedelta()) -> str:
    """Midnight (UTC) at which that day begins, or so long after it."""
    text = given.get(name)
    if not text:
        return ""
    try:
        return f"{datetime.strptime(text, '%Y-%m-%d') + after:%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
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
