"""An OpenAI-compatible endpoint for embeddings on this machine, which stalls when a test wants it to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

DIMENSIONS = 16


class EmbeddingEndpoint(ThreadingHTTPServer):
    """Answers with vectors made of the texts' hashes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answered: Counter[str] = Counter()
        self.goes_on = threading.Event()
        self.still_for = ""
        """It stalls for a caller with this key after its first answer, until `goes_on` is set; "" means for nobody."""
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
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if key and key == self.server.still_for and self.server.answered[key]:
            self.server.is_still.set()
            self.server.goes_on.wait()
        self.server.answered[key] += 1
        data: list[dict[str, Any]] = [{"index": n, "embedding": _vector(text)} for n, text in enumerate(texts)]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


def _vector(text: str) -> list[float]:
    seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    found: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return found


@contextmanager
def embedding_endpoint() -> Iterator[EmbeddingEndpoint]:
    """Serve an endpoint until the block ends."""
    endpoint = EmbeddingEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.goes_on.set()
        endpoint.shutdown()
        endpoint.server_close()
