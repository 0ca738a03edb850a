"""A Maven repository on this machine, for tests: it can stop in the middle of a file, and give wrong checksums."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDING_S = 600
USUAL = Path.home() / ".m2" / "repository"
"""The files that Maven has fetched on this machine; its plugins come from here."""


class MavenRepository:
    """Files of its own by path, each with its checksum; any other file is one that Maven has fetched before."""

    def __init__(self) -> None:
        """Begin without files of its own."""
        self.url = ""
        self.files: dict[str, bytes] = {}
        self.checksums: dict[str, str] = {}
        """Checksums by path that are sent instead of the true ones."""
        self.asked: list[str] = []
        """The path of each request for a file of its own, without checksums."""
        self.others: list[str] = []
        """The path of each request for a file that Maven fetched before, without checksums."""
        self.standing = threading.Event()
        """Set when a file of its own was sent as far as `hold` allows."""
        self.held_at: int | None = None
        self._going = threading.Event()

    def hold(self, at: int) -> None:
        """From now on, stop after `at` bytes of a file of its own, until `let_go`."""
        self.held_at = at

    def let_go(self) -> None:
        """Send the rest, and whole files from now on."""
        self.held_at = None
        self._going.set()

    def stand(self) -> None:
        """Wait until `let_go`."""
        self.standing.set()
        self._going.wait(STANDING_S)

    def body(self, path: str) -> bytes | None:
        """Return the content at a path, None if there is none."""
        of, ending = path.removesuffix(".sha1"), path.endswith(".sha1")
        found = self.files.get(of)
        if found is None and (USUAL / of).is_file():
            found = (USUAL / of).read_bytes()
        if found is None or not ending:
            return found
        return self.checksums.get(of, hashlib.sha1(found).hexdigest()).encode()  # noqa: S324 - Maven's


class Answering(BaseHTTPRequestHandler):
    """Answers requests for one repository."""

    protocol_version = "HTTP/1.1"

    def __init__(self, repository: MavenRepository, *more: Any) -> None:
        """Answer one connection."""
        self.repository = repository
        super().__init__(*more)

    def do_GET(self) -> None:
        """Send a file, or the part of it that is requested and allowed."""
        path = self.path.lstrip("/")
        body = self.repository.body(path)
        if body is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        own, wanted, start = path in self.repository.files, self.headers.get("Range"), 0
        if not path.endswith(".sha1"):
            (self.repository.asked if own else self.repository.others).append(path)
        if wanted is not None:
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        held_at = self.repository.held_at if own else None
        if held_at is not None:
            self.wfile.write(body[start:held_at])
            self.repository.stand()
            start = held_at
        self.wfile.write(body[start:])

    def handle_one_request(self) -> None:
        """Ignore clients that were stopped."""
        with suppress(ConnectionError):
            super().handle_one_request()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def serving_repository() -> Iterator[MavenRepository]:
    """Serve a repository on a free port while the block lasts."""
    repository = MavenRepository()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Answering, repository))
    server.daemon_threads = True
    repository.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield repository
    finally:
        repository.let_go()
        server.shutdown()
        server.server_close()
        thread.join()
