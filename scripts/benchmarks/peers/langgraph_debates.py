"""A thread a debate, a node a turn, on LangGraph with its Postgres checkpointer and durability "sync": the checkpoint of
each turn is committed before the next begins.

What was chosen, and why:

- One saver, with a connection and a compiled graph of its own, for each debate under way at a time. A saver takes a lock
  around every statement even when it is given a pool (langgraph issue 7259), so one saver for all would let one debate
  at a time speak to Postgres.
- The asynchronous saver on uvloop: `invoke` hands its work between threads of its own, which costs more.
- Each turn has a field of its own in the state. It is a dictionary, because the saver writes a plain string again in
  every later checkpoint, and anything else once; a list that all turns are added to would be written whole each time.
- How many debates are under way at once is tried out: the best counts.
"""

import asyncio
import contextlib
from typing import Any, TypedDict

import uvloop
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scripts.benchmarks.peers import side

work = side.work()
NAMES = [f"turn_{number}" for number in range(work.turns)]
State = TypedDict("State", {name: dict[str, Any] for name in NAMES}, total=False)  # type: ignore[misc]


def graph_with(saver: AsyncPostgresSaver) -> Any:
    graph = StateGraph(State)
    for name, following in zip(NAMES, [*NAMES[1:], END], strict=True):

        async def take_turn(_: Any, name: str = name) -> dict[str, Any]:
            return {name: {"content": f"{name}: {work.content}"}}

        graph.add_node(f"take_{name}", take_turn)
        graph.add_edge(f"take_{name}", following if following == END else f"take_{following}")
    graph.add_edge(START, f"take_{NAMES[0]}")
    return graph.compile(checkpointer=saver)


async def hold_some(graph: Any, debates: list[str]) -> None:
    for name in debates:
        config = {"configurable": {"thread_id": name}}
        ended = await graph.ainvoke({}, config, durability="sync")
        assert len(ended) == work.turns


async def main(loop: asyncio.AbstractEventLoop) -> list[Any]:
    """A graph for each debate at a time. Autocommit and dict_row are what the saver asks for."""
    graphs = []
    for number in range(work.at_once):
        connection = await AsyncConnection.connect(work.database_url, autocommit=True, row_factory=dict_row)
        saver = AsyncPostgresSaver(connection)  # type: ignore[arg-type]
        if number == 0:
            await saver.setup()
        graphs.append(graph_with(saver))
    return graphs


async def hold(graphs: list[Any], debates: list[str]) -> None:
    await asyncio.gather(*(hold_some(graph, debates[own :: len(graphs)]) for own, graph in enumerate(graphs)))


with contextlib.closing(uvloop.new_event_loop()) as loop:
    graphs = loop.run_until_complete(main(loop))
    side.run(lambda debates: loop.run_until_complete(hold(graphs, debates)), work.debates)
