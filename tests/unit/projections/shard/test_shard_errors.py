"""A full disk, a busy file, one that may not be written, a disk that fails: each told apart, with what to do."""

from __future__ import annotations

import asyncio
import sqlite3 as standard  # whose module names every code
from typing import TYPE_CHECKING

import pytest
from support.examples import remember

from projections.encrypted_files import open_database, sqlite3
from projections.shard.errors import (
    ShardBusy,
    ShardDamaged,
    ShardUnavailable,
    trouble,
)
from schemas import codec
from schemas.topics import INBOX

if TYPE_CHECKING:
    from pathlib import Path

    from support.workbench import Workbench

FACT = remember("用户喜欢喝咖啡" * 4000, "c-1")


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (standard.SQLITE_FULL, ShardUnavailable, "free space on its disk"),
        (standard.SQLITE_IOERR_SHMSIZE, ShardUnavailable, "free space on its disk"),
        (standard.SQLITE_BUSY, ShardBusy, "end the other program"),
        (standard.SQLITE_BUSY_SNAPSHOT, ShardBusy, "end the other program"),
        (standard.SQLITE_READONLY_DIRECTORY, ShardUnavailable, "make it and its folder writable"),
        (standard.SQLITE_IOERR_FSYNC, ShardUnavailable, "look at the system's log"),
        (standard.SQLITE_CORRUPT_INDEX, ShardDamaged, "the shard is damaged, and is folded anew from the log"),
        (standard.SQLITE_NOTADB, ShardDamaged, "the shard is damaged, and is folded anew from the log"),
        (standard.SQLITE_ERROR, ShardDamaged, "the shard is damaged, and is folded anew from the log"),
    ],
)
def test_each_of_sqlites_codes_has_its_meaning_and_its_advice(
    tmp_path: Path, code: int, kind: type[Exception], advice: str
):
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    known = trouble(tmp_path / "3.sqlite", error)
    assert type(known) is kind
    assert str(tmp_path / "3.sqlite") in str(known)
    assert f"as SQLite says it; {advice}" in str(known)


async def folds_when(bench: Workbench, kind: type[ShardUnavailable], mended: object) -> None:
    """Let remember decide while the shard cannot be written, mend that, and see that it has gone on by itself."""
    record = await bench.publish(INBOX.name, codec.encode(FACT))
    remembering = asyncio.create_task(bench.remembers(record))
    while bench.shards.trouble() is None:  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0.01)
    assert type(bench.shards.trouble()) is kind
    assert (len(bench.state().memories), bench.acked) == (0, [])
    assert callable(mended)
    mended()
    await asyncio.wait_for(remembering, 120)
    assert (len(bench.state().memories), len(bench.acked), bench.shards.trouble()) == (1, 1, None)
    assert len(await bench.ledger()) == 1, "it was appended once, and folded when there was room"


async def test_a_full_disk_is_waited_out(bench: Workbench):
    run = bench.shards.at(0)._connection.execute
    [pages] = run("pragma page_count").fetchone()
    run(f"pragma max_page_count={pages}")
    await folds_when(bench, ShardUnavailable, lambda: run(f"pragma max_page_count={pages + 1000}"))


async def test_a_file_that_another_program_writes_is_waited_for(bench: Workbench):
    bench.shards.at(0)._connection.execute("pragma busy_timeout=20")
    other = open_database(bench.shards.at(0).path, isolation_level=None)
    other.execute("begin immediate")
    await folds_when(bench, ShardBusy, lambda: other.execute("rollback"))
    other.close()


async def test_a_file_that_may_not_be_written_is_waited_for(bench: Workbench):
    run = bench.shards.at(0)._connection.execute
    run("pragma query_only=on")
    await folds_when(bench, ShardUnavailable, lambda: run("pragma query_only=off"))
