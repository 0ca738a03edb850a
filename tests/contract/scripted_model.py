"""A local OpenAI-compatible chat endpoint that plays a script: for tests of whatever talks to a model."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

Mode: TypeAlias = Literal[
    "ok",
    "no_json_schema",
    "no_response_format",
    "429",
    "500",
    "hang",
    "cut",
    "fenced",
    "bare",
    "prose",
    "wrong_shape",
    "one_bad",
    "empty",
]
Memories: TypeAlias = list[dict[str, Any]]

_REFUSED_FORMS = {"no_json_schema": ("json_schema",), "no_response_format": ("json_schema", "json_object")}
_LINE = re.compile(r"^\[(\d+)\] \S+ \S+ [^:]*: (.*)$", re.MULTILINE)


def each_line(lines: list[tuple[int, str]]) -> Memories:
    """Remember every numbered line word for word, citing it."""
    return [{"content": text, "sources": [number]} for number, text in lines]


class ScriptedModel:
    """Serves `base_url` while entered. `requests` are the bodies received, oldest first.

    `memories` says what to remember of the numbered lines. `play(mode, count)` sets how the next `count` requests
    (None: all) are answered; `play_error(status, ...)` and `play_body(bytes)` answer so once, before any mode.
    """

    def __init__(self, memories: Callable[[list[tuple[int, str]]], Memories] = each_line, port: int = 0) -> None:
        """Bind the port; 0 is any free one."""
        self.memories = memories
        self.requests: list[dict[str, Any]] = []
        self.retry_after = "7"
        self._mode: Mode = "ok"
        self._count: int | None = None
        self._once: list[tuple[int, bytes, dict[str, str]]] = []
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = False  # closing waits for the answers under way
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def forms(self) -> list[str]:
        """The form in which each request asked for its answer."""
        return [request.get("response_format", {}).get("type", "none") for request in self.requests]

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of whoever hangs, and stop."""
        self.play("ok")
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def play(self, mode: Mode, count: int | None = None) -> None:
        with self._changed:
            self._mode, self._count = mode, count
            self._changed.notify_all()

    def play_error(self, status: int, error: dict[str, Any] | None = None, **headers: str) -> None:
        body = json.dumps({"error": {"message": f"scripted {status}", **(error or {})}}).encode()
        self._once.append((status, body, {name.replace("_", "-"): value for name, value in headers.items()}))

    def play_body(self, body: bytes, content_type: str = "application/json") -> None:
        self._once.append((200, body, {"Content-Type": content_type}))

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        with self._changed:
            self.requests.append(request)
            if self._once:
                return self._once.pop(0)
            mode = self._mode
            if mode != "ok" and self._count is not None:
                self._count -= 1
                if self._count <= 0:
                    self._mode, self._count = "ok", None
            if mode == "hang":
                self._changed.wait_for(lambda: self._mode != "hang", timeout=60)
        form = request.get("response_format", {}).get("type")
        if form in _REFUSED_FORMS.get(mode, ()):
            return _error(400, f"response_format {form} is not supported", param="response_format")
        if mode == "429":
            status, body, headers = _error(429, "rate limit")
            return status, body, headers | {"Retry-After": self.retry_after}
        if mode == "500":
            return _error(500, "internal error")
        content = self._spell(mode, request["messages"])
        return 200, completion(content, "length" if mode == "cut" else "stop"), {}

    def _spell(self, mode: Mode, messages: list[dict[str, Any]]) -> str:
        said = [_text(message["content"]) for message in messages if message["role"] == "user"]
        lines = next((found for text in reversed(said) if (found := _LINE.findall(text))), [])
        memories = self.memories([(int(number), text) for number, text in lines])
        if mode == "one_bad":
            memories = [*memories[:1], {"kind": "semantic", "importance": "very"}, *memories[1:]]
        good = json.dumps({"memories": memories}, ensure_ascii=False)
        spelt = {
            "cut": good[: len(good) * 3 // 5],
            "fenced": f"```json\n{good}\n```",
            "bare": json.dumps(memories, ensure_ascii=False),
            "prose": "Certainly! This was a nice conversation.",
            "wrong_shape": json.dumps({"result": {"count": len(memories)}}),
            "empty": "",
        }
        return spelt.get(mode, good)


def _text(content: str | list[dict[str, Any]]) -> str:
    """Return what a message says, its pictures left out."""
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def completion(content: str | None, finish_reason: str = "stop", tokens: tuple[int, int] = (100, 10)) -> bytes:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": content}
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }
    return json.dumps(body).encode()


def _error(status: int, message: str, **fields: str) -> tuple[int, bytes, dict[str, str]]:
    return status, json.dumps({"error": {"message": message, "type": "scripted", **fields}}).encode(), {}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: object) -> None:
            """Keep the tests' output quiet."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/v1/chat/completions":
                status, body, headers = model.answer(request)
            else:
                status, body, headers = _error(404, f"no route {self.path}")
            # One request a connection, so that no thread waits for a next one when the server closes.
            self.close_connection = True
            try:
                self.send_response(status)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(body)),
                    "Connection": "close",
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the caller gave up waiting

    return Handler
