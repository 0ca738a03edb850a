"""Runs LangGraph's own store tests on `MnemologStore`: nothing but the store is replaced.

    python tools/langgraph_suite.py CHECKOUT [REVISION] [PYTEST ARGUMENT…]

CHECKOUT is a clone of LangGraph's repository; nothing of it is kept. The tests are those of its SQLite and in-memory
stores. Where they import SQLite's store, they get ours: each store belongs to a user of its own, with all items
(`user_part=None`), and all are on one `mnemolog up`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SQLITE: Final = "libs/checkpoint-sqlite/tests"
MEMORY: Final = "libs/checkpoint/tests"
FILES: Final = {
    "tests/__init__.py": None,
    "tests/test_store.py": f"{SQLITE}/test_store.py",
    "tests/test_async_store.py": f"{SQLITE}/test_async_store.py",
    "tests/test_ttl.py": f"{SQLITE}/test_ttl.py",
    "tests/test_memory_store.py": f"{MEMORY}/test_store.py",
    "tests/embed_test_utils.py": f"{MEMORY}/embed_test_utils.py",
}
PLUGIN: Final = '''
"""Puts our store where the tests look for SQLite's and the one in memory."""

import os
import sys
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from uuid import uuid4

from langgraph.store import memory

from mnemolog.integrations.langgraph import MnemologStore


class Store(MnemologStore):
    """Ours, made as theirs are."""

    def __init__(self, *, index=None, ttl=None):
        fields = (index or {}).get("text_fields") or ("$",)  # SQLite's name of them
        super().__init__(
            os.environ["SUITE_URL"], user_part=None, user_id=f"user-{uuid4()}", fields=fields, index=index, ttl=ttl
        )

    def setup(self):
        """Do nothing: there is nothing to migrate."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, _, **options):
        with cls(**options) as store:
            yield store


class AsyncStore(Store):
    """The same with await."""

    async def setup(self):
        """Do nothing."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _, **options):
        async with cls(**options) as store:
            yield store

    async def sweep_ttl(self):
        """Sweep, as theirs does with await."""
        return super().sweep_ttl()

    async def start_ttl_sweeper(self, minutes=None):
        """Start the sweeper."""
        return super().start_ttl_sweeper(minutes)

    async def stop_ttl_sweeper(self, timeout=None):
        """Stop the sweeper."""
        return super().stop_ttl_sweeper(timeout)


class NotOurs:
    """Stands for what only SQLite's store has."""


def pytest_configure():
    package, base, aio = ModuleType("langgraph.store.sqlite"), ModuleType("base"), ModuleType("aio")
    package.SqliteStore, package.AsyncSqliteStore = Store, AsyncStore
    aio.AsyncSqliteStore = AsyncStore
    base.SqliteIndexConfig = dict
    for name in ("NS_MATCH_FUNCTION", "BaseSqliteStore", "_escape_glob_literal", "_namespace_match_pattern"):
        setattr(base, name, NotOurs)
    sys.modules["langgraph.store.sqlite"] = package
    sys.modules["langgraph.store.sqlite.base"] = base
    sys.modules["langgraph.store.sqlite.aio"] = aio
    memory.InMemoryStore = Store
    sys.modules["pytest_mock"] = mock = ModuleType("pytest_mock")
    mock.MockerFixture = NotOurs
'''


def main() -> int:
    """Copy the tests out of the checkout, run them, and return pytest's exit code."""
    if len(sys.argv) < 2:  # noqa: PLR2004 - the program and the checkout
        print(__doc__)
        return 2
    checkout, revision, *arguments = [*sys.argv[1:3], *(["HEAD"] if len(sys.argv) == 2 else []), *sys.argv[3:]]  # noqa: PLR2004
    sys.path.insert(0, str(ROOT / "tests"))
    from support.free_ports import free_ports  # noqa: PLC0415 - found by the path above
    from support.mnemolog_up import Up  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, source in FILES.items():
            path = place / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"" if source is None else _shown(checkout, revision, source))
        (place / "plugin.py").write_text(PLUGIN)
        up = Up(place / "up", free_ports(1)[0])
        up.wait_until_ready()
        try:
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "plugin",
                "-q",
                "-o",
                "asyncio_mode=auto",
                "-c",
                "/dev/null",
            ]
            environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{place}:{ROOT}", "SUITE_URL": up.url}
            run = subprocess.run([*command, *arguments, "tests"], cwd=place, env=environment, check=False)
        finally:
            up.end(signal.SIGTERM)
    return run.returncode


def _shown(checkout: str, revision: str, path: str) -> bytes:
    return subprocess.run(
        ["git", "-C", checkout, "show", f"{revision}:{path}"],
        check=True,
        capture_output=True,
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
