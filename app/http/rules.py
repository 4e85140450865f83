"""What the hooks of a request check for each view. A view declares its rules with its route (`Blueprint.view`)."""

from dataclasses import dataclass

from app.core.access import Action

LARGE_BODY = 8 * 2**20
LARGEST_BODY = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Rules:
    takes: Action | tuple[Action, ...] = ()
    """What a view with a body does, or one of several actions. Required before the body is read, because parsing a
    large one takes time. The use case checks it again, with the seat or the owner."""
    spends: bool = False
    """Makes models generate. Refused where the key has spent its quota."""
    guests: bool = False
    """Answers a guest, for the guest's own debate. Every other view refuses guests."""
    public: bool = False
    """Answers without a key, with public content only."""
    agents: bool = False
    """Requires an agent's key, also on a server without a token. Checked before the body is parsed."""
    max_bytes: int | None = None
    """The body's limit, where it is not the server's own."""
    has_document: bool = False
    """The body may have a document, so it may be larger than others."""
    is_lines: bool = False
    """The body is lines of JSON or CSV, which the view reads."""
    stores: bool = True
    """The body counts towards the caller's quota of stored bytes."""


RULES: dict[str, Rules] = {}
"""By endpoint."""
_DEFAULT = Rules()


def rules_of(endpoint: str | None) -> Rules:
    return RULES.get(endpoint or "", _DEFAULT)
