"""An OpenAI-compatible endpoint whose manners are data: the first rule that fits a request determines the answer.

A rule's `when` has conditions by the names of `_FITS`. The rule answers with `status`, `headers`, and one of `body`
(JSON, or a verbatim text), `hex`, `gzip` (JSON), `message`, `content` and `says` (an error's message); `item` is the
shape of each vector. In texts GOOD stands for a whole answer, and HALF for the first half of one.
"""

from __future__ import annotations

import gzip
import json
import struct
import threading
from base64 import b64encode
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOOD = json.dumps({"memories": [{"content": "The user keeps bees in Oslo", "kind": "semantic", "sources": [1]}]})
HALF = GOOD[: len(GOOD) // 2]
WIDTH = 8


class MannersEndpoint(ThreadingHTTPServer):
    """Serves chat completions and embeddings by `rules`; `requests` has the requests since the rules were set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rules: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def behave(self, rules: list[dict[str, Any]]) -> None:
        """Answer by these rules, and in the usual form if none fits."""
        self.rules, self.requests = rules, []


class _Handler(BaseHTTPRequestHandler):
    server: MannersEndpoint

    def do_GET(self) -> None:
        self._answer(404, b'{"error": {"message": "no such path"}}', {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = len(self.server.requests)
        self.server.requests.append((self.path, asked))
        fits = (rule for rule in self.server.rules if _fits(rule.get("when", {}), asked, number, self.path))
        rule = next(fits, {})
        self._answer(rule.get("status", 200), _body(rule, asked, self.path), rule.get("headers", {}))

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            for name, value in given.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


def _fits(when: dict[str, Any], asked: dict[str, Any], number: int, path: str) -> bool:
    return path.endswith(when.get("path", "")) and all(
        _FITS[name](asked, wanted, number) for name, wanted in when.items() if name != "path"
    )


_FITS: dict[str, Callable[[dict[str, Any], Any, int], bool]] = {
    "form": lambda asked, forms, _: asked.get("response_format", {}).get("type", "none") in forms,
    "has": lambda asked, name, _: name in asked,
    "role": lambda asked, role, _: any(message["role"] == role for message in asked.get("messages", ())),
    "texts": lambda asked, most, _: len(asked.get("input", ())) > most,
    "long": lambda asked, most, _: any(len(text) > most for text in asked.get("input", ())),
    "format": lambda asked, name, _: asked.get("encoding_format") == name,
    "before": lambda _, end, number: number < end,
    "from": lambda _, begin, number: number >= begin,
}


def _body(rule: dict[str, Any], asked: dict[str, Any], path: str) -> bytes:
    if "hex" in rule:
        return bytes.fromhex(rule["hex"])
    if "gzip" in rule:
        return gzip.compress(_filled(rule["gzip"]))
    if "body" in rule:
        return _filled(rule["body"])
    if rule.get("status", 200) != 200:
        return json.dumps({"error": {"message": rule.get("says", "no")}}).encode()
    if path.endswith("/embeddings"):
        return _vectors(rule, asked)
    message = rule.get("message", {"role": "assistant", "content": rule.get("content", "GOOD")})
    choice = {"index": 0, "message": message, "finish_reason": rule.get("finish", "stop")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return _filled(
        {"id": "x", "object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": usage}
    )


def _filled(value: Any) -> bytes:
    if isinstance(value, str):
        return value.replace("GOOD", GOOD).replace("HALF", HALF).encode("utf-8", "surrogatepass")
    spelt = json.dumps(value).replace("GOOD", json.dumps(GOOD)[1:-1]).replace("HALF", json.dumps(HALF)[1:-1])
    return spelt.encode()


def _vectors(rule: dict[str, Any], asked: dict[str, Any]) -> bytes:
    usual = "BASE64" if asked.get("encoding_format") == "base64" else "NUMBERS"
    shape = rule.get("item", {"object": "embedding", "index": "PLACE", "embedding": usual})
    width = rule.get("width", WIDTH)
    items = [_item(shape, _vector(text, width), place) for place, text in enumerate(asked["input"])]
    order = rule.get("order")
    items = items[::-1] if order == "backwards" else items[: rule.get("most")]
    return json.dumps({"object": "list", "model": asked["model"], "data": items, **rule.get("beside", {})}).encode()


def _item(shape: Any, vector: list[float], place: int) -> Any:
    spelt = b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    given = {
        "PLACE": place,
        "PLACE+1": place + 1,
        "PLACE AS TEXT": str(place),
        "NUMBERS": vector,
        "TEXTS": [str(number) for number in vector],
        "NESTED": [vector],
        "SPELT LIST": json.dumps(vector),
        "BASE64": spelt,
        "UNPADDED": spelt.rstrip("="),
        "URLSAFE": spelt.replace("+", "-").replace("/", "_"),
        "DOUBLES": b64encode(struct.pack(f"<{len(vector)}d", *vector)).decode(),
    }
    if isinstance(shape, dict):
        return {name: _item(value, vector, place) for name, value in shape.items()}
    return given.get(shape, shape) if isinstance(shape, str) else shape


def _vector(text: str, width: int) -> list[float]:
    return [(byte - 127.5) / 128 for byte in sha256(text.encode()).digest()[:width]]


@contextmanager
def mannered_endpoint() -> Iterator[MannersEndpoint]:
    """Serve an endpoint until the block ends."""
    endpoint = MannersEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.shutdown()
        endpoint.server_close()
