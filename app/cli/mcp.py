"""`debate mcp`: the server's MCP endpoint on standard input and output; and `debate guide`."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from app.cli import output
from app.cli.command import Commands
from app.cli.options import connect

if TYPE_CHECKING:
    from app.cli.client import Api

commands = Commands()
CONCURRENCY = 16
"""Messages in flight: a wait for a turn must not delay a ping."""
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603


@commands.command()
def guide() -> None:
    """Print the instructions for an agent that holds a seat, to paste into its prompt.

    Example: debate guide
    """
    from app.wire.guide import GUIDE

    output.say(GUIDE.rstrip("\n"))


@commands.command()
def mcp() -> None:
    """Serve the Model Context Protocol on standard input and output.

    Sends each line to POST /mcp of the server at DEBATE_SERVER_URL, with DEBATE_AUTH_TOKEN as the key.

    Example: claude mcp add debate -- debate mcp
    """
    bridge = _Bridge(connect())
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        for line in sys.stdin.buffer:
            if line.strip():
                pool.submit(bridge.answer, line)


class _Bridge:
    def __init__(self, api: "Api") -> None:
        self._api = api
        self._writing = threading.Lock()

    def answer(self, line: bytes) -> None:
        """Writes the response as one line; nothing for a notification."""
        try:
            message = json.loads(line)
        except ValueError:
            return self._write(_error(None, PARSE_ERROR, "This line is not JSON"))
        if not isinstance(message, dict):
            return self._write(_error(None, PARSE_ERROR, "This line is not one JSON-RPC message"))
        reply = self._reply(message)
        return self._write(reply) if "id" in message and reply is not None else None

    def _reply(self, message: output.Json) -> Any:
        from app.cli.errors import CommandFailed
        from debate_client import requests

        try:
            reply = self._api.send(requests.mcp(message))
        except CommandFailed as failure:
            words = f"{failure.message}. {failure.suggestion}" if failure.suggestion else failure.message
            return _error(message.get("id"), INTERNAL_ERROR, words)
        if isinstance(reply, dict) and "jsonrpc" not in reply:
            # The server did not read the request as JSON-RPC.
            return _error(message.get("id"), INTERNAL_ERROR, str(reply.get("error", {}).get("message")))
        return reply

    def _write(self, reply: Any) -> None:
        with self._writing:
            sys.stdout.write(json.dumps(reply, ensure_ascii=False, separators=(",", ":")) + "\n")
            sys.stdout.flush()


def _error(request_id: Any, code: int, message: str) -> output.Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
