"""The share of what models are sent that an earlier call of the same debate began with: what a provider can cache."""

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from app.bootstrap import build_services, close_services
from app.cli.children import WORKER_COMMAND, Child, end
from app.core.access import OPERATOR
from app.core.debate import Limits
from app.core.players import SeatSetup
from app.core.schedules import BUILT_IN, ROUNDS, Schedule
from app.core.seats import Seat
from app.usecases.create import NewDebate, create_debate
from app.usecases.documents import NewMaterial
from app.usecases.read import get_transcript
from app.usecases.services import Services
from scripts.benchmarks import report
from scripts.benchmarks.place import own_servers
from tests.model_server import Call, ModelServer, ruling

PLAYERS = {Seat.PROPOSER: "gpt-4o", Seat.OPPONENT: "gpt-4o-mini", Seat.ARBITRATOR: "gpt-4.1"}
"""A model for each seat: its name shows whose call it is."""
DOCUMENT_BYTES = 30_000
SPEECH = "The town paid for the new wheel in 1987, and nobody has shown a bill that says otherwise. "
SPEECH_BYTES = 1_200
"""About 200 words."""
WITH_DOCUMENT, WITHOUT = report.Aim(at_least=0.85), report.Aim(at_least=0.6)
AIMED = ROUNDS
"""The first call of a debate repeats nothing. A format with fewer calls can reach less: `direct`, with one, nothing."""
ALL = "all"

Shares = dict[str, tuple[int, int]]
"""By seat: the bytes that were repeated, and all."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--document-bytes", type=int, default=DOCUMENT_BYTES)


def run(options: argparse.Namespace) -> None:
    forms = list(BUILT_IN.values())[: 2 if options.quick else None]
    document = (SPEECH * (options.document_bytes // len(SPEECH) + 1))[: options.document_bytes]
    rows = []
    with own_servers() as settings, ModelServer(say=_said) as models:
        os.environ.update(models.environment)
        worker = Child("worker", WORKER_COMMAND, settings, log=None)
        services = build_services(settings, name="bench", database_connections=2)
        try:
            for text, aim in ((document, WITH_DOCUMENT), (None, WITHOUT)):
                rows += _rows(services, models, forms, options.rounds, text, aim)
        finally:
            close_services(services)
            end([worker])
    report.head("prompts", f"debates of {options.rounds} rounds, with and without {options.document_bytes:,} bytes", 1)
    report.table(rows, "", "share repeated")
    report.save_rows("prompts", rows, rounds=options.rounds, document_bytes=options.document_bytes)


def _said(call: Call) -> str:
    properties = (call.shape or {}).get("properties", {})
    # No two are the same: what is repeated is repeated because it was sent before.
    speech = f"{len(call.text)} {SPEECH * (SPEECH_BYTES // len(SPEECH))}"
    if "winner" in properties:
        return json.dumps({**ruling("proposer"), "reasoning": speech[: SPEECH_BYTES // 2]})
    return json.dumps({"move": "claim", "text": speech}) if "move" in properties else speech


def _rows(
    services: Services,
    models: ModelServer,
    forms: Sequence[Schedule],
    rounds: int,
    document: str | None,
    aim: report.Aim,
) -> list[report.Row]:
    label = "with a document" if document else "without"
    held = {form.name: _shares(_calls_of(services, models, form, rounds, document)) for form in forms}
    rows = [
        report.Row(
            f"{label}, {name}, {seat}", [same / every], aim=aim if (name, seat) == (AIMED.name, ALL) else None, digits=2
        )
        for name, by_seat in held.items()
        for seat in (*(seat.role for seat in Seat), ALL)
        if seat in by_seat
        for same, every in (by_seat[seat],)
    ]
    same, every = (sum(by_seat[ALL][place] for by_seat in held.values()) for place in (0, 1))
    return [*rows, report.Row(f"{label}, {ALL} formats", [same / every], digits=2)]


def _calls_of(services: Services, models: ModelServer, form: Schedule, rounds: int, document: str | None) -> list[Call]:
    models.calls.clear()
    seats = {seat: SeatSetup(f"openai:{player}") for seat, player in PLAYERS.items()}
    new = NewDebate(
        "Bench",
        "general_debate",
        "The town should own the mill",
        f"{time.time_ns()}",
        None,
        form,
        seats,
        Limits(max_rounds=rounds if form.has_rounds else None),
        material=NewMaterial(document, tuple(Seat)) if document else None,
    )
    debate = create_debate(services, OPERATOR, new).debate
    while not get_transcript(services, debate.id, None).debate.is_closed:
        time.sleep(0.02)
    return list(models.calls)


def _shares(calls: Iterable[Call]) -> Shares:
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    seats = {player: seat.role for seat, player in PLAYERS.items()}
    earlier: list[bytes] = []
    for call in calls:
        sent = f"{call.instructions}\0{call.text}".encode()
        same = max((_same(sent, before) for before in earlier), default=0)
        earlier.append(sent)
        for seat in (seats[call.model], ALL):
            found[seat] = (found[seat][0] + same, found[seat][1] + len(sent))
    return dict(found)


def _same(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)
