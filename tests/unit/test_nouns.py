"""One definition of each noun: a field that is added, or missing, on one side is noticed here.

A field is the value's, in app/core or the store. Its column is in the tables, and a line of the shape in app/wire or
app/http says that clients see it. Rows, JSON, OpenAPI, MCP and the client's values follow, or are compared here.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import Table

import debate_client
from app.core.brief import Exchange
from app.core.debate import Debate, Origin, Speaker, Turn, Usage
from app.core.experiments.motions import Motion
from app.core.experiments.plan import Match
from app.core.judgments import Judgment
from app.core.players import SeatSetup
from app.core.quotes import Quote
from app.core.solutions import Author, Contribution, Solution
from app.core.verdicts import Standing, Verdict
from app.http.answers import InvitationData, InvitationShape, ListAnswer, PollNew, StoredAnswer, TranscriptAnswer
from app.http.mcp import outputs
from app.http.solutions import answers as solutions_answers
from app.http.webhooks import DeliveryShape, NewWebhookShape
from app.store import exchanges, judgments, rows, webhooks
from app.store.experiments import experiments, feed
from app.store.experiments import tables as of_experiments
from app.store.experiments.experiments import Experiment
from app.store.mapping import Mapped
from app.store.sessions import IssuedInvitation
from app.store.solutions import evaluations, solutions
from app.store.solutions import tables as of_solutions
from app.store.solutions.evaluations import Evaluation
from app.store.tables import debates, turns, webhook_deliveries
from app.store.tables import exchanges as exchange_table
from app.store.tables import webhooks as webhook_table
from app.store.webhooks import Delivery, Webhook
from app.usecases.invitations import NewInvitation
from app.wire import debates as wire
from app.wire import experiments as experiments_wire
from app.wire.seat_shapes import SeatShape
from app.wire.shape import From, Made, Shape
from debate_client.answers import Answer

ROOT = Path(__file__).parents[2]
CLAIM = "whose turn it is for, and when it is due: read by statements of claims alone"
NO_CLAIM = dict.fromkeys(("claim_token", "claimed_by", "share", "due_at"), CLAIM)


@dataclass(frozen=True)
class Noun:
    value: type
    mapped: Mapped[Any] | None = None
    table: Table | None = None
    shape: type[Shape] | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Fields of the value that clients do not see, each with the reason."""
    given: frozenset[str] = frozenset()
    """Fields of the shape that are given to `of`: they are not the value's."""
    unmapped: Mapping[str, str] = field(default_factory=dict)
    """Columns that no value has, each with the reason."""
    computed: frozenset[str] = frozenset()
    """What queries add to the columns."""

    @cached_property
    def fields(self) -> set[str]:
        return set(get_type_hints(self.value))


AUTHOR = frozenset({"author_username", "author_display_name"})
NOUNS = {
    "judgment": Noun(
        Judgment,
        judgments.judgment_rows,
        of_experiments.judgments,
        experiments_wire.JudgmentShape,
        unmapped={
            **NO_CLAIM,
            "attempts": "how often it was tried: part of its claim",
            "asked_by": "whose quota pays",
            "judge_kind": "shown in the judge's name",
        },
    ),
    "experiment": Noun(
        Experiment,
        experiments.experiment_rows,
        of_experiments.experiments,
        experiments_wire.ExperimentShape,
        hidden={
            "stated": "shown as spec",
            "formats": "what the names of formats in the spec mean: each debate shows its schedule",
            "arbitrator": "in the spec, as its first judge",
            "concurrency": "in the spec",
            "reserved_usd": "changes with every call; the budget holds with it",
            "spent_usd": "shown as cost_usd, where all prices are known",
            "planning": "between a start and its first match",
            "created_by": "checked, not shown",
            "started_at": "for the operator's page",
        },
        given=frozenset({"progress", "cost_usd", "estimate"}),
        unmapped={"planner_until": "the claim of the process that writes the plan"},
    ),
    "motion": Noun(
        Motion,
        experiments.motion_rows,
        of_experiments.motions,
        unmapped={"experiment_id": "whose motion it is", "position": "the order in which it came"},
    ),
    "match": Noun(
        Match,
        feed.match_rows,
        of_experiments.matches,
        unmapped=dict.fromkeys(
            ("experiment_id", "key", "position", "status", "reason", "interrupted", "debate_id"),
            "what became of the planned match: read by its queries",
        ),
    ),
    "exchange": Noun(
        Exchange,
        exchanges.exchange_rows,
        exchange_table,
        wire.CallShape,
        unmapped=dict.fromkeys(("turn_id", "number", "created_at"), "which turn it is of"),
    ),
    "webhook": Noun(
        Webhook, webhooks.webhook_rows, webhook_table, NewWebhookShape, hidden={"disabled_at": "shown as is_enabled"}
    ),
    "delivery": Noun(
        Delivery,
        webhooks.delivery_rows,
        webhook_deliveries,
        DeliveryShape,
        hidden={"webhook_id": "in the address that was asked"},
        unmapped={"claim_token": CLAIM, "claimed_by": CLAIM, "number": "the order in which they are delivered"},
    ),
    "solution": Noun(
        Solution,
        solutions.solution_rows,
        of_solutions.solutions,
        solutions_answers.SolutionShape,
        computed=AUTHOR | {"evaluation_id"},
    ),
    "contribution": Noun(
        Contribution,
        solutions.contribution_rows,
        of_solutions.contributions,
        solutions_answers.ContributionShape,
        hidden={"position": "the order of the thread, in its page cursor"},
        computed=AUTHOR | {"evaluation_id"},
    ),
    "evaluation": Noun(
        Evaluation,
        evaluations.evaluation_rows,
        shape=solutions_answers.EvaluationShape,
        hidden={"created_at": "when its contribution was made"},
    ),
    "verdict": Noun(Verdict, shape=wire.VerdictShape),
    "standing": Noun(Standing, shape=wire.StandingShape),
    "usage": Noun(Usage, shape=wire.ArgumentUsageShape),
    "origin": Noun(Origin, shape=wire.OriginShape),
    "speaker": Noun(Speaker, shape=wire.SpeakerShape),
    "quote": Noun(Quote, shape=wire.QuoteShape),
    "author": Noun(Author, shape=solutions_answers.AuthorShape),
    "seat": Noun(SeatSetup, shape=SeatShape, hidden={"takeover": "part of on_timeout"}),
    "invitation": Noun(IssuedInvitation, shape=InvitationShape, hidden={"issuer_id": "its name is invited_by"}),
    "new invitation": Noun(
        NewInvitation, shape=InvitationData, hidden={"token": "in the link"}, given=frozenset({"url", "role"})
    ),
    "debate": Noun(
        Debate,
        rows.debate_rows,
        debates,
        wire.DebateShape,
        hidden={
            "intervention_open": "shown as the state",
            "interrupted": "whose turn goes on after the ruling: shown as next_actor then",
            "prompts_hash": "what `prompts` means for it: each argument shows its own",
            "past_deadline": "true for the transaction that read it alone",
            "past_waiting": "true for the transaction that read it alone",
            "next_attempt_at": "shown by the operator's pages",
            "waits_for_start": "means nothing once it was started: `waits_for_start` is is_held_back",
        },
        unmapped={
            **dict.fromkeys(("claim_token", "claimed_by", "settled_token", "due_at"), CLAIM),
            **dict.fromkeys(("deadline_at", "seconds_left"), "what is left of max_seconds: past_deadline is read"),
            **dict.fromkeys(("created_by", "client_request_id"), "the request that created it, for a repetition"),
        },
        computed=frozenset({"past_deadline", "past_waiting", "schedule"}),
    ),
    "turn": Noun(
        Turn,
        rows.turn_rows,
        turns,
        wire.ArgumentShape,
        unmapped=dict.fromkeys(("worker", "claim"), "which worker stored it: for people who look for a fault"),
    ),
}
STORED = [name for name, noun in NOUNS.items() if noun.mapped and noun.table is not None]
SHOWN = [name for name, noun in NOUNS.items() if noun.shape]


def source_of(shape: type[Shape], name: str) -> str | None:
    """The attribute that a field is read from; None where a function makes it."""
    metadata = shape.model_fields[name].metadata
    if any(isinstance(about, Made) for about in metadata):
        return None
    return next((about.path for about in metadata if isinstance(about, From)), name).split(".")[0]


@pytest.mark.parametrize("name", SHOWN)
def test_every_field_on_the_wire_is_one_of_the_value(name: str) -> None:
    noun = NOUNS[name]
    assert noun.shape
    sources = {each: source_of(noun.shape, each) for each in noun.shape.model_fields if each not in noun.given}
    known = {*noun.fields, *(each for each in dir(noun.value) if isinstance(getattr(noun.value, each), property))}
    assert {each for each, source in sources.items() if source is not None and source not in known} == set()
    assert noun.given <= noun.shape.model_fields.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_every_field_of_a_value_is_on_the_wire_or_hidden_for_a_reason(name: str) -> None:
    noun = NOUNS[name]
    assert noun.shape
    shown = {source_of(noun.shape, each) or each for each in noun.shape.model_fields}
    assert noun.fields - shown == noun.hidden.keys(), f"a new field of a {name}: show it in its shape, or hide it here"
    assert all(noun.hidden.values())


@pytest.mark.parametrize("name", STORED)
def test_every_column_is_a_field_of_the_value_or_internal_for_a_reason(name: str) -> None:
    noun = NOUNS[name]
    assert noun.mapped
    assert noun.table is not None
    columns = {column.name for column in noun.table.c}
    assert columns - set(noun.mapped.written) == noun.unmapped.keys()
    assert set(noun.mapped.written) - columns == noun.computed


# The client


CLIENT = {
    debate_client.Debate: wire.DebateShape,
    debate_client.Argument: wire.ArgumentShape,
    debate_client.Verdict: wire.VerdictShape,
    debate_client.Transcript: TranscriptAnswer.model_fields["data"].annotation,
    debate_client.Stored: StoredAnswer.model_fields["data"].annotation,
    debate_client.DebatePage: ListAnswer.model_fields["data"].annotation,
    debate_client.News: PollNew,
    debate_client.Invitation: InvitationData,
    debate_client.Issued: InvitationShape,
    debate_client.AgentKey: solutions_answers.NewAgentShape,
    debate_client.Webhook: NewWebhookShape,
    debate_client.Delivery: DeliveryShape,
}


def test_every_answer_of_the_client_is_compared() -> None:
    # By name: `slots` makes each class anew.
    assert {kind.__name__ for kind in Answer.__subclasses__()} == {kind.__name__ for kind in CLIENT}


@pytest.mark.parametrize("kind", CLIENT, ids=lambda kind: kind.__name__)
def test_every_field_of_the_client_is_on_the_wire_with_a_type_that_fits(kind: type[Answer]) -> None:
    shape = CLIENT[kind]
    assert shape
    described = shape.model_json_schema(mode="serialization", by_alias=True)
    hints = get_type_hints(kind)
    for each in fields(kind):
        if each.name == "raw":
            continue
        wired = described["properties"][each.metadata.get("key", each.name)]
        found = json_types(wired, described.get("$defs", {}))
        is_optional = each.default is not MISSING or each.default_factory is not MISSING
        assert found - {"null"} <= python_types(hints[each.name]), each.name
        assert "null" not in found or is_optional, f"{each.name} may be null"


def json_types(schema: dict[str, Any], known: dict[str, Any]) -> set[str]:
    if "$ref" in schema:
        return json_types(known[schema["$ref"].rpartition("/")[2]], known)
    if "anyOf" in schema:
        return set().union(*(json_types(each, known) for each in schema["anyOf"]))
    return {schema["type"]}


JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", tuple: "array"}


def python_types(hint: Any) -> set[str]:
    kinds = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    kinds = [tuple if each is debate_client.Arguments else get_origin(each) or each for each in kinds]
    return {JSON_TYPES.get(each, "object") for each in kinds}


# MCP


def test_the_schemas_of_mcp_name_fields_of_the_shapes() -> None:
    made = {"next_role", "answers"}
    assert outputs.DEBATE["properties"].keys() - made <= wire.DebateShape.model_fields.keys()
    assert outputs.ARGUMENT["properties"].keys() <= wire.ArgumentShape.model_fields.keys()


# Second definitions


PLACES = {
    # A fork keeps what its source is about, and nothing of how it went.
    "debate": {"app/core/debate.py", "app/wire/debates.py"},
    # A move that somebody submits is a turn with nearly all that a turn has.
    "turn": {"app/core/debate.py", "app/wire/debates.py", "app/usecases/submit.py"},
    "judgment": {"app/core/judgments.py", "app/wire/experiments.py"},
    "experiment": {"app/store/experiments/experiments.py", "app/wire/experiments.py"},
    "solution": {"app/core/solutions.py", "app/http/solutions/answers.py"},
    "contribution": {"app/core/solutions.py", "app/http/solutions/answers.py"},
    "webhook": {"app/store/webhooks.py", "app/http/webhooks.py"},
    "delivery": {"app/store/webhooks.py", "app/http/webhooks.py"},
}
"""Where a noun is defined: its value, and its shape. The client's values are compared above."""
MOST = 0.7
"""What lists so many of the fields, of the columns or of the names on the wire defines the noun."""
IN_SQL = re.compile(r"(?:INSERT INTO \w+ \(|SELECT |recordset\(.*?\) AS \w+ \(|RETURNING |SET\s)([^()]*)")
A_COLUMN = re.compile(r"(?:^|[\s,.])\"?(\w+)\"?(?=\s*(?:,|$|[a-z]+\s*,|AS|FROM|=))")


def lists_of_names(source: str) -> Iterator[set[str]]:
    """The names in each dictionary, list, call and class, and in each list of columns of an SQL text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Dict():
                yield {
                    each.value for each in node.keys if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
            case ast.Tuple() | ast.List() | ast.Set():
                yield {
                    each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
                yield {each.attr for each in node.elts if isinstance(each, ast.Attribute)}
            case ast.Call():
                yield {each.attr for each in node.args if isinstance(each, ast.Attribute)}
                yield {each.arg for each in node.keywords if each.arg}
            case ast.ClassDef():
                parts = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
                yield {each.id for each in parts if isinstance(each, ast.Name)}
            case ast.Constant(value=str(text)):
                yield from (set(A_COLUMN.findall(part)) for part in IN_SQL.findall(text))


@cache
def lists_by_file() -> dict[str, list[set[str]]]:
    files = [path for folder in ("app", "worker") for path in sorted((ROOT / folder).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): list(lists_of_names(path.read_text())) for path in files}


@pytest.mark.parametrize("name", PLACES)
def test_no_second_place_lists_the_fields_of_a_noun(name: str) -> None:
    noun = NOUNS[name]
    assert noun.shape
    assert noun.table is not None
    columns = {"debate": (rows.SET_UP, rows.CHANGING), "turn": (rows.SPOKEN,)}.get(name, ())
    known = [
        noun.fields,
        set(noun.shape.model_fields),
        *({each.name for each in some} for some in (noun.table.c, *columns)),
    ]
    found = {
        path
        for path, lists in lists_by_file().items()
        if any(len(names & one) >= MOST * len(one) for names in lists for one in known)
    }
    assert found == PLACES[name]
