"""The shards of two workers on one log: a partition moves away from one, and the other may copy its file."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from support.examples import remember
from support.memory_log import MemoryLog

from projections.encrypted_files import open_database
from projections.partitions.receiver import Offer, ShardReceiver
from projections.partitions.shards import Shards
from projections.state.digest import digests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from support.workbench import Workbench

    from projections.partitions.sender import ShardSender

WORTH = 20
FACTS = 30


class CountedLog(MemoryLog):
    """Counts the records that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> Any:
        found = await super().read(topic, partition, start, limit)
        self.given += len(found)
        return found


class Neighbour:
    """Another worker, without a network between. `lies` replace fields of its offer; `meanwhile` follows each part."""

    url = "http://neighbour"

    def __init__(self, sender: ShardSender) -> None:
        self.sender = sender
        self.lies: dict[str, Any] = {}
        self.asked_for = 0
        self.spoil: Callable[[bytes], bytes] = lambda part: part
        self.meanwhile: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)

    async def offers(self, partition: int) -> list[Offer]:
        offer = await self.sender.offer(partition)
        return [replace(offer, url=self.url, **self.lies)] if offer is not None else []

    async def content(self, offer: Offer) -> AsyncGenerator[bytes, None]:
        self.asked_for += 1
        async with aclosing(self.sender.content(offer.partition)) as parts:
            async for part in parts:
                yield self.spoil(part)
                await self.meanwhile()


async def moves_away(bench: Workbench, facts: int = FACTS) -> Neighbour:
    """Remember facts, release the partition, and return the worker that had it as a neighbour."""
    for number in range(facts):
        await bench.says(f"t-{number}", f"第{number}句")
        await bench.decides(remember(f"用户喜欢第{number}种茶", f"c-{number}"))
    await bench.shards.at(0).catch_up()
    bench.shards.assignment.release(0)
    bench.shards.takeover.assign([])
    return Neighbour(bench.shards.takeover.sender)


async def hold(shards: Shards, log: MemoryLog, neighbour: Neighbour, worth: int = WORTH) -> None:
    """Assign the partition to a worker that may copy its shard from a neighbour, and take it over."""
    shards.takeover.receiver = ShardReceiver(log, neighbour, worth)
    shards.takeover.assign([0])
    await shards.takeover.hold(0)


async def folded(log: MemoryLog, folder: Path) -> dict[str, list[Any]]:
    """Return the rows that a fold of the whole log gives."""
    shards = Shards(folder, log, 1)
    shards.takeover.assign([0])
    await shards.takeover.hold(0)
    shards.close()
    return rows(folder / "0.sqlite")


def rows(path: Path) -> dict[str, list[Any]]:
    """Return all rows in a shard's file, by table."""
    with closing(open_database(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type='table'")]
        return {table: sorted(connection.execute(f"select * from {table}"), key=repr) for table in tables}  # noqa: S608


async def is_a_fold(shards: Shards, log: MemoryLog, tmp_path: Path) -> bool:
    """Return whether a shard equals a fold from offset 0, in its file and by its digest."""
    expected = await folded(log, tmp_path / "fold")
    other = Shards(tmp_path / "fold", log, 1)
    other.takeover.assign([0])
    await other.takeover.hold(0)
    both = [digests(map(each.state, each.users.owners())) for each in (shards, other)]
    other.close()
    return both[0] == both[1] and rows(shards.at(0).committed_file()) == expected


def left_over(tmp_path: Path) -> list[str]:
    """Return the files in the taker's folder other than the shards."""
    names = {file.name.removesuffix("-wal").removesuffix("-shm") for file in (tmp_path / "taker").iterdir()}
    return sorted(names - {"0.sqlite", "globals.sqlite"})
