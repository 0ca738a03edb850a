"""What the log holds no more is in no shard: a live shard is what a rebuilt one would be."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from examples import XIAOMING
from workbench import Workbench

from mnemolog.upkeep import drop_old
from projections.retention import drop_expired
from schemas.topics import CONVERSATIONS, INBOX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one")
    yield bench
    bench.close()


def kept(folder: Path) -> dict[str, list[Any]]:
    """Return every row of a shard's file."""
    with sqlite3.connect(folder / "0.sqlite") as connection:
        tables = [n for (n,) in connection.execute("select name from sqlite_master where type='table'")]
        found = {t: sorted(connection.execute(f"select * from {t}").fetchall(), key=repr) for t in tables}  # noqa: S608
    connection.close()
    return found


async def rebuilt(bench: Workbench, folder: Path) -> dict[str, list[Any]]:
    again = Workbench(folder, bench.log)
    for shard in again.shards.all():
        await shard.catch_up()
    again.close()
    return kept(folder)


async def test_a_live_shard_forgets_what_the_log_has_dropped_and_equals_a_rebuilt_one(bench: Workbench, tmp_path: Path):
    records = [await bench.says(f"t-{n}") for n in range(5)]
    records.append(await bench.says("t-1"))  # repeated, and its repeat is still there
    records += [
        await bench.says("t-0", role=None),
        await bench.says("t-7", role=None),
        await bench.says("t-8", role=None),
    ]
    await bench.observes(*records, await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    await bench.shards.at(0).catch_up()
    before = kept(tmp_path / "one")
    assert len(before["observations"]) == 6
    bench.log.drop_before(CONVERSATIONS.name, 0, 4)
    assert await drop_expired(bench.log, bench.shards, rows=2) == 4
    live = kept(tmp_path / "one")
    assert live == await rebuilt(bench, tmp_path / "two")
    assert [row[1] for row in live["observations"]] == ["e-1", "t-1", "t-4"]
    for table in ("covered", "extracted", "decisions", "memories", "cited", "items"):
        assert (live[table], len(live[table]) > 0) == (before[table], True), table
    bench.log.drop_before(CONVERSATIONS.name, 0, 8)
    await drop_expired(bench.log, bench.shards)
    assert kept(tmp_path / "one") == await rebuilt(bench, tmp_path / "three")
    assert await drop_expired(bench.log, bench.shards) == 0


async def test_what_was_dropped_and_comes_again_is_not_extracted_again(bench: Workbench):
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    bench.log.drop_before(CONVERSATIONS.name, 0, 2)
    await drop_expired(bench.log, bench.shards)
    assert bench.shards.at(0).turns.seen(XIAOMING, ["t-1"]) == {}
    await bench.observes(await bench.says("t-1"), await bench.ends("e-2"))
    assert bench.extractor.asked == [["t-1#0"]]


async def test_a_worker_drops_the_turns_of_its_shards_with_those_of_its_log(tmp_path: Path):
    async with front_door(tmp_path, partitions=1, retention_days=1) as door:
        await door.http.post("/v1/events?wait=20", json=turn("t-1", "I live in Berlin."))
        await door.post("/v1/admin/drain", {})
        [memory] = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        door.clock.ahead = timedelta(days=2)
        await drop_old(door.worker.log, door.worker.shards)
        assert (await door.get("/v1/events/t-1", user_id="u1")).status_code == 404
        assert (await door.get("/v1/sessions/s1/turns", user_id="u1")).json()["items"] == []
        history = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()
        assert [e["type"] for e in history["events"]] == ["MemoryFormed"]
