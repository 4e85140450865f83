"""Starts the two processes of a peer, measures the time, and checks that everything was stored."""

import json
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from scripts.benchmarks.peers.side import Work

PYTHON = Path(f"{sys.prefix}-peers") / "bin" / "python"
"""`scripts/bench engine --peers` makes this environment next to the developers' one."""
END_SECONDS = 60

_DBOS_TURNS = "SELECT count(*) FROM dbos.operation_outputs WHERE workflow_uuid = ANY(%s)"
_LANGGRAPH_TURNS = "SELECT count(*) FROM checkpoint_blobs WHERE channel LIKE 'turn_%%' AND thread_id = ANY(%s)"
PEERS = {
    "DBOS": (["dbos_debates"], _DBOS_TURNS),
    "DBOS, coroutines": (["dbos_debates", "coroutines"], _DBOS_TURNS),
    "LangGraph": (["langgraph_debates"], _LANGGRAPH_TURNS),
}
"""Each with its module and arguments, and what counts the turns that it has stored."""


def make_databases(server_url: str) -> dict[str, str]:
    """A separate database for each peer, on the server of ours."""
    urls = {}
    with psycopg.connect(server_url, autocommit=True) as connection:
        for peer, (arguments, _) in PEERS.items():
            name = "_".join(arguments)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            urls[peer] = _renamed(server_url, name)
    return urls


def _renamed(server_url: str, database: str) -> str:
    """libpq understands both ways of writing; DBOS wants a URL."""
    head, _, query = server_url.partition("?")
    return f"{head.rpartition('/')[0]}/{database}" + (f"?{query}" if query else "")


@dataclass(frozen=True)
class Share:
    debates: int
    turns: int
    content: str
    processes: int
    at_once: int
    """Concurrent debates in each process."""


def hold(peer: str, database_url: str, share: Share) -> float:
    """Seconds."""
    arguments, stored = PEERS[peer]
    debates = [str(uuid.uuid4()) for _ in range(share.debates)]
    started: list[subprocess.Popen[str]] = []
    try:
        for number in range(share.processes):
            work = Work(database_url, debates[number :: share.processes], share.turns, share.content, share.at_once)
            started.append(_start(arguments, work))
            # One after the other: the first makes the tables.
            _wait_for("ready", started[-1])
        began = time.monotonic()
        for process in started:
            _tell(process, "go")
        for process in started:
            _wait_for("done", process)
        seconds = time.monotonic() - began
    finally:
        for process in started:
            # It exits when it is done, or when its input ends.
            process.communicate(timeout=END_SECONDS)
    with psycopg.connect(database_url) as connection:
        row = connection.execute(stored, (debates,)).fetchone()  # type: ignore[arg-type]
    assert row is not None
    assert row[0] == share.debates * share.turns, f"{peer} has stored {row[0]} turns"
    return seconds


def _start(arguments: list[str], work: Work) -> "subprocess.Popen[str]":
    module, *more = arguments
    command = [str(PYTHON), "-m", f"scripts.benchmarks.peers.{module}", *more]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    _tell(process, json.dumps(asdict(work)))
    return process


def _tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _wait_for(word: str, process: "subprocess.Popen[str]") -> None:
    output: IO[str] | None = process.stdout
    assert output is not None
    for line in output:
        if line.strip() == word:
            return
    raise RuntimeError(f"{process.args} ended with {process.wait()} before it was {word}")
