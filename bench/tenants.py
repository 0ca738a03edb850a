"""The cost of a Weaviate tenant for each user, made inactive when idle, against one for each partition with a filter.

    python bench/tenants.py [USERS]                       # after `make engines`; docs/evidence/weaviate.md has 20,000

Each way has a node of its own, with the collection that mnemolog makes, and is filled with 20 memories of each user,
user after user. Where each user has a tenant, the users of a batch are made inactive when all of it is written. The
program prints the objects written per second, the node's resident memory and open files, its bytes and files on disk,
and the median and 95th percentile of a search in a user's vectors: of 50 users who are searched again and again, and
once of each of 400 others, who are inactive by then where each user has a tenant.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter

from bench.footprint import resident_mib, size_of
from bench.search import unit
from projections.index.remote.object_ids import owner_id, partition_name
from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.collection import WeaviateCollection
from projections.index.weaviate.schema import vector_name

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.weaviate_server import is_installed, running_weaviate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.weaviate_server import WeaviateServer
    from weaviate.collections.collection import CollectionAsync

    Objects: TypeAlias = list[DataObject[Any, None]]

USERS, MEMORIES, DIMENSIONS, PARTITIONS = 500, 20, 512, 8
BATCH_USERS, AT_ONCE, SAY_EVERY_USERS = 200, 8, 1_000
WARM_USERS, WARM_ROUNDS, OTHERS, LIMIT = 50, 8, 400, 10


class TenantsOfUsers:
    """A tenant for each user, active while it is written or searched."""

    name = "a tenant for each user"

    async def write(self, ours: CollectionAsync, users: Sequence[int], chance: np.random.Generator) -> None:
        """Write the memories of some users, several users at a time, then make these users inactive."""
        for start in range(0, len(users), AT_ONCE):
            some = users[start : start + AT_ONCE]
            await asyncio.gather(*(insert(ours.with_tenant(f"u{u}"), memories_of(u, chance)) for u in some))
        await ours.tenants.deactivate([f"u{user}" for user in users])

    def searched(self, ours: CollectionAsync, user: int) -> CollectionAsync:
        """Return the tenant's part of the collection, which has only this user's memories."""
        return ours.with_tenant(f"u{user}")


class TenantsOfPartitions:
    """A tenant for each partition, always active."""

    name = "a tenant for each partition"

    async def write(self, ours: CollectionAsync, users: Sequence[int], chance: np.random.Generator) -> None:
        """Write the memories of some users, those of each partition together."""
        parts: dict[str, Objects] = {}
        for user in users:
            parts.setdefault(tenant_of(user), []).extend(memories_of(user, chance))
        await asyncio.gather(*(insert(ours.with_tenant(tenant), part) for tenant, part in parts.items()))

    def searched(self, ours: CollectionAsync, user: int) -> CollectionAsync:
        """Return the tenant's part of the collection, which has other users' memories too."""
        return ours.with_tenant(tenant_of(user))


def tenant_of(user: int) -> str:
    """Return the tenant of a user's partition."""
    return partition_name("default", f"u{user}", PARTITIONS)


def memories_of(user: int, chance: np.random.Generator) -> Objects:
    """Return a user's memories as objects."""
    owner = owner_id("default", f"u{user}").hex
    return [
        DataObject(
            properties={"owner": owner, "memory_id": f"m{number}", "version": 1, "copy": 1, "embedding_model": "=b="},
            vector={vector_name(DIMENSIONS): vector.tolist()},
        )
        for number, vector in enumerate(unit(chance, MEMORIES))
    ]


async def insert(ours: CollectionAsync, objects: Objects) -> None:
    """Write objects of one tenant; one that is refused ends the benchmark."""
    answer = await ours.data.insert_many(objects)
    assert not answer.has_errors, next(iter(answer.errors.values())).message


async def times(
    ours: CollectionAsync, way: TenantsOfUsers | TenantsOfPartitions, users: Sequence[int], chance: np.random.Generator
) -> dict[str, float]:
    """Return the median and 95th percentile in ms of searching these users one after the other."""
    taken = []
    for user in users:
        vector = unit(chance, 1)[0].tolist()
        began = time.perf_counter()
        answer = await way.searched(ours, user).query.near_vector(
            vector,
            target_vector=vector_name(DIMENSIONS),
            limit=LIMIT,
            filters=Filter.by_property("owner").equal(owner_id("default", f"u{user}").hex),
            return_properties=["memory_id", "version"],
        )
        taken.append(1_000 * (time.perf_counter() - began))
        assert len(answer.objects) == LIMIT, f"u{user} has {len(answer.objects)} hits"
    return {"p50_ms": float(np.quantile(taken, 0.5)), "p95_ms": float(np.quantile(taken, 0.95))}


def held_by(node: Path, server: WeaviateServer) -> dict[str, float]:
    """Return the node's resident memory, open files, and bytes and files on disk."""
    return {
        "resident_mib": resident_mib(server.pid),
        "open_files": len(list(Path(f"/proc/{server.pid}/fd").iterdir())),
        "disk_mib": size_of(node / "data") / (1 << 20),
        "files": sum(1 for file in (node / "data").rglob("*") if file.is_file()),
    }


async def measured(way: TenantsOfUsers | TenantsOfPartitions, users: int) -> dict[str, float]:
    """Fill a node of its own and search it."""
    chance = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder)
        with running_weaviate(node) as server:
            # a generation, because tenants cannot be changed through an alias
            collection = WeaviateCollection(WeaviateAddress.parse(server.url), None, 1)
            try:
                ours, began = await collection.open(), time.perf_counter()
                for start in range(0, users, BATCH_USERS):
                    some = range(start, min(start + BATCH_USERS, users))
                    await way.write(ours, some, chance)
                    if some.stop % SAY_EVERY_USERS == 0:
                        rate = some.stop * MEMORIES / (time.perf_counter() - began)
                        print(f"  {way.name}: {some.stop:,} users, {rate:,.0f} objects a second", flush=True)
                found = {"objects_a_second": users * MEMORIES / (time.perf_counter() - began)} | held_by(node, server)
                shuffled = [int(user) for user in chance.permutation(users)]
                few, others = shuffled[:WARM_USERS], shuffled[WARM_USERS : WARM_USERS + OTHERS]
                await times(ours, way, few, chance)  # tenants of users are active from here on
                warm, cold = await times(ours, way, few * WARM_ROUNDS, chance), await times(ours, way, others, chance)
            finally:
                await collection.close()
    found |= {f"warm_{what}": ms for what, ms in warm.items()} | {f"others_{what}": ms for what, ms in cold.items()}
    print(f"{way.name}: {', '.join(f'{what} {value:,.1f}' for what, value in found.items())}", flush=True)
    return found


async def main(users: int = USERS) -> dict[str, object]:
    """Measure both ways with `users` users."""
    if not is_installed():
        raise SystemExit("Weaviate is not installed: run `make engines`")
    return {
        "memories_of_a_user": MEMORIES,
        "tenants_of_partitions": await measured(TenantsOfPartitions(), users),
        "tenants_of_users": await measured(TenantsOfUsers(), users),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("users", nargs="?", type=int, default=USERS)
    asyncio.run(main(parser.parse_args().users))
