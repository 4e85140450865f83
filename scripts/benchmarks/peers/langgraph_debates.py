"""A thread a debate, a node a turn, on LangGraph with its Postgres checkpointer and durability "sync": the checkpoint
of each turn is committed before the next begins.

What was chosen, and why:

- One saver, with its own connection and compiled graph, for each debate in flight at a time. A saver takes a
  lock around every statement even when it is given a pool (langgraph issue 7259), so one saver for all would let one
  debate at a time speak to Postgres.
- `invoke` in threads: `ainvoke` with the asynchronous saver on uvloop took more CPU a turn and was slower, in two runs
  of two.
- Each turn has its own field in the state. It is a dictionary, because the saver writes a plain string again in
  every later checkpoint, and anything else once. One list that all turns are added to is written whole each time, and
  took a tenth more.
- The benchmark tries several numbers of concurrent debates: the best counts.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg import Connection
from psycopg.rows import dict_row

from scripts.benchmarks.peers import side

work = side.work()
NAMES = [f"turn_{number}" for number in range(work.turns)]
State = TypedDict("State", dict.fromkeys(NAMES, dict[str, Any]), total=False)  # type: ignore[misc]


def make_graph() -> Any:
    """Autocommit and dict_row are what the saver asks for."""
    connection = Connection.connect(work.database_url, autocommit=True, row_factory=dict_row)
    saver = PostgresSaver(connection)  # type: ignore[arg-type]
    saver.setup()
    graph = StateGraph(State)
    for name, following in zip(NAMES, [*NAMES[1:], None], strict=True):

        def take_turn(_: Any, name: str = name) -> dict[str, Any]:
            return {name: {"content": f"{name}: {work.content}"}}

        graph.add_node(f"take_{name}", take_turn)
        graph.add_edge(f"take_{name}", f"take_{following}" if following else END)
    graph.add_edge(START, f"take_{NAMES[0]}")
    return graph.compile(checkpointer=saver)


graphs = [make_graph() for _ in range(work.at_once)]


def hold_some(own: int, debates: list[str]) -> None:
    for name in debates[own :: len(graphs)]:
        ended = graphs[own].invoke({}, {"configurable": {"thread_id": name}}, durability="sync")
        assert len(ended) == work.turns


with ThreadPoolExecutor(work.at_once) as pool:

    def hold(debates: list[str]) -> None:
        list(pool.map(hold_some, range(len(graphs)), [debates] * len(graphs)))

    side.run(hold, work.debates)
