"""A provider of models on this machine: it speaks the OpenAI and the Anthropic wire, and misbehaves when it is told to.

What it says is made up, what it counts is fixed, and it remembers every call.
"""

import json
import select
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20
LATE_SECONDS = 9
SECRET = "the-secret-key"  # noqa: S105
SPEECH = "First a reason that carries weight, then an example that shows it, and then what follows from both."
REASONING = "Both sides spoke to the point, and one of them answered the other."


@dataclass
class Call:
    wire: str
    model: str
    body: dict[str, Any]
    headers: dict[str, str]
    began_at: float
    ended_at: float | None = None
    hung_up_at: float | None = None
    """When the client went away in the middle of it."""

    @property
    def instructions(self) -> str:
        if self.wire == "anthropic":
            system = self.body.get("system", "")
            return system if isinstance(system, str) else "".join(part["text"] for part in system)
        return _text(self.body["messages"][0]["content"])

    @property
    def text(self) -> str:
        """The message as it was sent: the document, and the task after it."""
        return _text(self.body["messages"][-1]["content"])

    @property
    def document(self) -> dict[str, Any]:
        return self._document_and_end[0]

    @property
    def task(self) -> str:
        _, end = self._document_and_end
        return self.text[end:].strip()

    @property
    def _document_and_end(self) -> tuple[dict[str, Any], int]:
        return json.JSONDecoder().raw_decode(self.text)

    @property
    def shape(self) -> dict[str, Any] | None:
        """The schema of the answer that is asked for."""
        if "response_format" in self.body:
            return self.body["response_format"]["json_schema"]["schema"]
        tools = self.body.get("tools") or []
        return tools[0].get("input_schema") or tools[0]["function"]["parameters"] if tools else None


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@dataclass
class ModelServer:
    seconds: float = 0
    """How long every call takes."""
    pieces_pause: float = 0
    """Between the pieces of a streamed answer."""
    moves: list[str] = field(default_factory=lambda: ["claim", "appeal", "resolution"])
    rule: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Makes a ruling from the document; by default the proposer wins. Where it is asked which of two answers is
    correct, it may return that (`which_answer`), or a ruling: the winner's answer is then said to be correct."""
    assess: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Makes a guardrail's verdict from the document; by default everything is approved."""
    behave: Callable[[Call], str] | None = None
    """What a call meets for which nothing is planned."""
    say: Callable[[Call], str] | None = None
    """What is answered, instead of what would make sense."""
    count: Callable[[Call], Any] | None = None
    """What it says that a call has used, in the words of its wire; by default always the same."""
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    _plans: dict[str, list[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> "ModelServer":
        server = self

        class Handler(_Handler):
            model_server = server

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients that go away are what these tests are about."""

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What points a worker here."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": SECRET,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": SECRET,
        }

    def plan(self, model: str, *behaviours: str) -> None:
        """What the next calls of this model meet; afterwards it behaves."""
        with self._lock:
            self._plans[model] = list(behaviours)

    def calls_of(self, model: str) -> list[Call]:
        with self._lock:
            return [call for call in self.calls if call.model == model]

    def begin(self, call: Call) -> str:
        with self._lock:
            self.calls.append(call)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            plan = self._plans.get(call.model)
            if plan:
                return plan.pop(0)
        return self.behave(call) if self.behave else "well"

    def end(self, call: Call) -> None:
        with self._lock:
            self.at_once -= 1
            call.ended_at = time.monotonic()

    def answer(self, call: Call, behaviour: str) -> str:
        if self.say:
            return self.say(call)
        properties = (call.shape or {}).get("properties", {})
        nonsense = _nonsense(behaviour, is_ruling="winner" in properties)
        if nonsense is not None:
            return nonsense
        if "winner" in properties or "probability" in properties:
            return json.dumps(as_asked(call, self.rule(call.document) if self.rule else ruling("proposer")))
        if "verdict" in properties:
            return json.dumps(self.assess(call.document) if self.assess else {"reasons": [], "verdict": "approved"})
        if "move" in properties:
            with self._lock:
                before = sum(1 for each in self.calls if "move" in (each.shape or {}).get("properties", {})) - 1
            return json.dumps({"move": self.moves[before % len(self.moves)], "text": SPEECH})
        return SPEECH


def _nonsense(behaviour: str, is_ruling: bool) -> str | None:
    if behaviour in ("nul", "surrogate"):
        hostile = f"With {chr(0)} in it" if behaviour == "nul" else f"With {chr(0xD800)} in it"
        return json.dumps({**ruling("tie"), "reasoning": hostile}) if is_ruling else hostile
    if behaviour == "loose_types":
        return json.dumps({**ruling("proposer"), "scores": {"proposer": "9", "opponent": True}, "stop": "yes"})
    return {
        "empty": "",
        "invalid_json": '{"reasoning": "because',
        "wrong_schema": json.dumps({"verdict": "the proposer, of course", "points": 11}),
        "huge": "so on and on it goes " * 10_000,
    }.get(behaviour)


def ruling(winner: str, stop: bool = False) -> dict[str, Any]:
    scores = {"proposer": 5.0, "opponent": 5.0}
    if winner in scores:
        scores[winner] = 8.0
    return {"reasoning": REASONING, "scores": scores, "winner": winner, "stop": stop}


def as_asked(call: Call, ruled: dict[str, Any]) -> dict[str, Any]:
    """The ruling, or where the call asks which of two answers is correct, the winner's answer."""
    asks = "probability" in (call.shape or {}).get("properties", {}) and "winner" in ruled
    return which_answer(_letter(ruled["winner"], call.document)) if asks else ruled


def which_answer(letter: str, probability: float = 0.8, stop: bool = False) -> dict[str, Any]:
    return {"reasoning": REASONING, "answer": letter, "probability": probability, "stop": stop}


def _letter(winner: str, document: dict[str, Any]) -> str:
    """The letter of the answer that this side defends."""
    return document["defends"].get(winner, "A")


_ERRORS = {
    "400": (400, "invalid_request_error", "max_tokens is too large"),
    "401": (401, "authentication_error", f"Incorrect API key provided: {SECRET}"),
    "404": (404, "not_found_error", "The model does not exist"),
    "429": (429, "rate_limit_error", "Slow down"),
    "500": (500, "api_error", "Something broke on our side"),
    "hostile_error": (500, "api_error", f"A NUL {chr(0)} and half a pair {chr(0xD800)}"),
}
LATER = "429_after_"
"""With what the header Retry-After says."""


_WAITS = {"hang": 60, "late": LATE_SECONDS}


class _Handler(BaseHTTPRequestHandler):
    model_server: ModelServer
    protocol_version = "HTTP/1.1"
    # Small pieces go out at once; otherwise each answer would take 40 ms longer for no reason of ours.
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Silent."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wire = "anthropic" if self.path.startswith("/v1/messages") else "openai"
        call = Call(wire, body["model"], body, dict(self.headers), time.monotonic())
        behaviour = self.model_server.begin(call)
        try:
            self._respond(call, behaviour)
        except OSError:
            call.hung_up_at = time.monotonic()
            self.close_connection = True
        finally:
            self.model_server.end(call)

    def _respond(self, call: Call, behaviour: str) -> None:
        seconds = _WAITS.get(behaviour, self.model_server.seconds)
        if seconds:
            self._wait(seconds)
        if behaviour in _ERRORS:
            self._fail(call, *_ERRORS[behaviour])
        elif behaviour.startswith(LATER):
            self._fail(call, *_ERRORS["429"], retry_after=behaviour.removeprefix(LATER))
        elif behaviour in ("endless_line", "endless_error", "compressed"):
            self._go_on_for_ever(behaviour)
        elif call.body.get("stream"):
            self._stream(call, behaviour)
        else:
            self._send(200, json.dumps(_whole(call, self.model_server.answer(call, behaviour))))

    def _wait(self, seconds: float) -> None:
        """As long as the client is there."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.connection], [], [], min(left, 0.05))[0] and not self.connection.recv(
                1, socket.MSG_PEEK
            ):
                raise ConnectionResetError

    def _go_on_for_ever(self, behaviour: str) -> None:
        """Until the client has had enough."""
        self.send_response(500 if behaviour == "endless_error" else 200)
        self.send_header("Content-Type", "text/event-stream" if behaviour == "endless_line" else "application/json")
        if behaviour == "compressed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        packer = zlib.compressobj(wbits=31)
        self.wfile.write(b"data: " if behaviour == "endless_line" else b"")
        while True:
            piece = b"x" * 65_536
            self.wfile.write(packer.compress(64 * piece) if behaviour == "compressed" else piece)

    def _fail(self, call: Call, status: int, kind: str, message: str, retry_after: str = "2") -> None:
        error = {"type": kind, "message": message}
        if call.wire == "openai" and status == 404:
            error["code"] = "model_not_found"
        headers = {"Retry-After": retry_after} if status == 429 else {}
        self._send(status, json.dumps({"type": "error", "error": error}), headers)

    def _send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def _stream(self, call: Call, behaviour: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        answer = self.model_server.answer(call, behaviour)
        counted = self.model_server.count(call) if self.model_server.count else None
        events = (_openai_events if call.wire == "openai" else _anthropic_events)(call, answer, behaviour, counted)
        for number, event in enumerate(events):
            if behaviour == "cut" and number == 4:
                # In the middle of the answer, without the end that chunks must have.
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            data = event.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self._wait(1 if behaviour == "trickle" else self.model_server.pieces_pause)
        self.wfile.write(b"0\r\n\r\n")


def _pieces(text: str) -> Iterator[str]:
    step = max(8, len(text) // 40)
    yield from (text[start : start + step] for start in range(0, len(text), step))


def _openai_events(call: Call, answer: str, behaviour: str, counted: Any) -> Iterator[str]:
    def event(choices: list[dict[str, Any]], **more: Any) -> str:
        head = {"id": "call-1", "object": "chat.completion.chunk", "created": 1, "model": call.model}
        return f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n"

    yield event([{"index": 0, "delta": {"role": "assistant", "content": ""}}])
    if behaviour == "refusal":
        yield event([{"index": 0, "delta": {"refusal": "I cannot help with that."}}])
    elif behaviour == "tool_call":
        tool = {"name": "search", "arguments": json.dumps({"query": answer})}
        yield event(
            [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "1", "type": "function", "function": tool}]}}]
        )
    elif behaviour != "content_filter":
        for piece in _pieces(answer):
            yield event([{"index": 0, "delta": {"content": piece}}])
    reason = {"content_filter": "content_filter", "used_up": "length"}.get(behaviour, "stop")
    yield event([{"index": 0, "delta": {}, "finish_reason": reason}])
    usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
    yield event([], usage=counted or {**usage, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS})
    yield "data: [DONE]\n\n"


def _anthropic_events(call: Call, answer: str, behaviour: str, counted: Any) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    yield event("message_start", message={**_whole(call, ""), "content": [], "stop_reason": None})
    stop_reason = "refusal" if behaviour in ("refusal", "content_filter") else "end_turn"
    tool = "search" if behaviour == "tool_call" else "answer"
    if stop_reason != "refusal":
        if call.shape or behaviour == "tool_call":
            stop_reason = "tool_use"
            block = {"type": "tool_use", "id": "tool-1", "name": tool, "input": {}}
            yield event("content_block_start", index=0, content_block=block)
            deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in _pieces(answer))
        else:
            yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            deltas = ({"type": "text_delta", "text": piece} for piece in _pieces(answer))
        for delta in deltas:
            yield event("content_block_delta", index=0, delta=delta)
        yield event("content_block_stop", index=0)
    stop_reason = "max_tokens" if behaviour == "used_up" else stop_reason
    yield event("message_delta", delta={"stop_reason": stop_reason}, usage=counted or {"output_tokens": OUTPUT_TOKENS})
    yield event("message_stop")


def _whole(call: Call, answer: str) -> dict[str, Any]:
    if call.wire == "openai":
        return {
            "id": "call-1",
            "object": "chat.completion",
            "created": 1,
            "model": call.model,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
            "usage": {
                "prompt_tokens": INPUT_TOKENS,
                "completion_tokens": OUTPUT_TOKENS,
                "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            },
        }
    return {
        "id": "call-1",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": answer}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 0 if call.body.get("stream") else OUTPUT_TOKENS},
    }
