"""The fault matrix: each row is what goes wrong while the workload is published."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faults.cluster import backup_faults as of_backups
from faults.cluster import broker_faults as of_brokers
from faults.cluster import clock_faults as of_clocks
from faults.cluster import erasure_faults as of_erasures
from faults.cluster import index_faults as of_index
from faults.cluster import input_faults as of_inputs
from faults.cluster import ledger_faults as of_the_ledger
from faults.cluster import rebuild_faults as of_rebuilds
from faults.cluster import scaling
from faults.cluster import shard_faults as of_shards
from faults.cluster import worker_faults as of_workers
from faults.cluster.registry_faults import registry_away

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import date

    from faults.cluster.cluster import Cluster


@dataclass(frozen=True)
class Row:
    """A fault, and how long publishing is to go on around it: seconds in the short form and in full."""

    name: str
    what: str
    fault: Callable[[Cluster], Awaitable[None]]
    short_seconds: float = 15.0
    full_seconds: float = 60.0
    brokers: int = 1
    twice: bool = False
    weaviate: bool = False
    """The index of all workers is in Weaviate."""
    registry: bool = False
    """Every other user's events come from a Kafka producer with a schema registry, which the workers are told of."""
    small_queues: bool = False
    """The workers' queues are full soon."""
    encrypted: bool = False
    """What the workers write lies sealed."""


async def _nothing(_cluster: Cluster) -> None:
    await asyncio.sleep(0)


ROWS = (
    Row("calm", "nothing", _nothing, short_seconds=0, full_seconds=0),
    Row("kills", "workers killed at random and started again, a quarter of them late", of_workers.kills, 25, 300),
    Row("freeze", "a worker frozen for longer than the session", of_workers.freeze, 15, 60),
    Row("rolling-restart", "every worker stopped and started, one after the other", of_workers.rolling_restart, 20, 60),
    Row("broker-killed", "the only broker killed and started again", of_brokers.kill_the_broker),
    Row("three-brokers", "each of three brokers lost and back", of_brokers.lose_each_broker, 15, 90, brokers=3),
    Row("clock", "a worker's clock set years ahead and back, and wrong at its start", of_clocks.set_the_clock, 40, 90),
    Row("network-cut", "a worker cut off from Kafka for three sessions", of_brokers.cut_the_network, 25, 60),
    Row("model-down", "the model refuses connections", of_inputs.trouble_with_the_model("down")),
    Row("model-throttling", "the model answers 429", of_inputs.trouble_with_the_model("429")),
    Row("model-hanging", "the model takes requests and never answers", of_inputs.trouble_with_the_model("hang")),
    Row("model-garbage", "the model answers what is no JSON", of_inputs.trouble_with_the_model("garbage")),
    Row("poison", "bytes that are no message on every topic", of_inputs.poison),
    Row("hostile", "all that a stranger once stopped a worker with, sent to each", of_inputs.hostile, 25, 60),
    Row(
        "queues-full",
        "the model refuses connections until the queues of all agents of observations are full (shrunk: 40 records,"
        " and 3 windows for the model), while others command and search; a worker killed meanwhile",
        of_inputs.fill_the_queues,
        30,
        90,
        small_queues=True,
    ),
    Row("disk-full", "the disk of a worker's shards full for ten seconds", of_shards.fill_the_disk, 30, 60),
    Row(
        "shard-damaged",
        "shards overwritten while their worker is dead",
        of_shards.lose_shards(of_shards.damage, is_damage=True),
        12,
    ),
    Row(
        "rows-damaged",
        "rows of shards damaged, which a later query finds",
        of_shards.lose_shards(of_shards.damage_contents, is_damage=True),
        20,
    ),
    Row(
        "shard-deleted",
        "shards deleted while their worker is dead",
        of_shards.lose_shards(of_shards.delete, is_damage=False),
        12,
    ),
    Row("rebuild", "a worker killed in a rebuild", of_rebuilds.kill_at_any_moment, 20, 90),
    Row(
        "rebuild-weaviate",
        "a worker killed in a rebuild of shards and of Weaviate's part",
        of_rebuilds.kill_everywhere,
        40,
        150,
        weaviate=True,
    ),
    Row(
        "erase",
        "users erased while workers are killed, every other one back",
        of_erasures.erase,
        25,
        120,
        encrypted=True,
    ),
    Row(
        "erase-weaviate",
        "the same, with the index in Weaviate",
        of_erasures.erase,
        25,
        120,
        weaviate=True,
        encrypted=True,
    ),
    Row(
        "erase-memory",
        "one memory of each of some users erased while workers are killed",
        of_erasures.erase_memories,
        25,
        120,
        encrypted=True,
    ),
    Row(
        "gap",
        "decisions repeated and forged in the ledger while it serves; then a copy of its topic in its place in which"
        " decisions are deleted, changed, exchanged, repeated and those of others, then cut, then put back",
        of_the_ledger.edit_the_ledger,
        40,
        90,
        encrypted=True,
    ),
    Row(
        "backup-restore",
        "the log backed up while workers, and the backup, are killed, and restored into other clusters, killed as well",
        of_backups.back_up_and_restore,
        40,
        90,
        encrypted=True,
    ),
    Row("come-and-go", "workers added and removed while queries run", scaling.come_and_go, 30, 180),
    Row("weaviate-killed", "Weaviate killed, back after a minute", of_index.kill_weaviate, 20, 90, weaviate=True),
    Row("weaviate-slow", "Weaviate stands still most of the time", of_index.slow_weaviate, 20, 60, weaviate=True),
    Row(
        "registry-away",
        "the schema registry by which every other user's events are written is down at the start, and killed later",
        registry_away,
        20,
        60,
        registry=True,
    ),
    Row("publisher-repeats", "the publisher sends every request twice", _nothing, twice=True),
)
BY_NAME = {row.name: row for row in ROWS}
FREQUENT = ("kills", "freeze", "broker-killed", "come-and-go", "shard-damaged")
"""Rows of which CI runs one a day, by turns; of the others in which something goes wrong it runs another one."""


def rows_of(day: date) -> list[Row]:
    """Return the two rows that CI runs on a day: every row comes round within weeks."""
    others = [row for row in ROWS if row.name not in (*FREQUENT, "calm")]
    turn = day.toordinal()
    return [BY_NAME[FREQUENT[turn % len(FREQUENT)]], others[turn % len(others)]]
