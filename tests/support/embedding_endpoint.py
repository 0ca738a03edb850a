"""An OpenAI-compatible endpoint for embeddings on this machine, which stands still when it is told to."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

DIMENSIONS = 16


class EmbeddingEndpoint(ThreadingHTTPServer):
    """Answers with vectors made of the texts' hashes, and counts the texts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.texts = 0
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.still_after = 0
        """With this many texts it stands still until `goes_on` is set; 0: never."""
        self.is_still = threading.Event()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingEndpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"]
        if self.server.still_after and self.server.texts >= self.server.still_after:
            self.server.is_still.set()
            self.server.goes_on.wait()
        self.server.texts += len(texts)
        data: list[dict[str, Any]] = [{"index": n, "embedding": _vector(text)} for n, text in enumerate(texts)]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _vector(text: str) -> list[float]:
    seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    found: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return found


@contextmanager
def embedding_endpoint() -> Iterator[EmbeddingEndpoint]:
    """Serve until the block ends."""
    endpoint = EmbeddingEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.goes_on.set()
        endpoint.shutdown()
        endpoint.server_close()
