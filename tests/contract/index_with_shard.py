"""An index behind its shard, as the project agent keeps it."""

from __future__ import annotations

from contract.index_examples import query


class FakeShard:
    """The active memories by user, and who was asked for."""

    def __init__(self):
        """Start empty."""
        self.memories = {}
        self.loads = []

    def put(self, one):
        user = self.memories.setdefault((one.tenant, one.user_id), {})
        held = user.get(one.memory_id)
        if held is None or held.version < one.version:
            user[one.memory_id] = one

    def remove(self, tenant, user_id, memory_ids):
        user = self.memories.get((tenant, user_id), {})
        for one, version in memory_ids.items():
            if one in user and user[one].version <= version:
                del user[one]

    def load(self, tenant, user_id):
        self.loads.append((tenant, user_id))
        return list(self.memories.get((tenant, user_id), {}).values())


class IndexWithShard:
    """The shard is told first, the index after it."""

    def __init__(self, make_index, *, loaded_early):
        """`make_index` is given the loader. `loaded_early`: at the first put, then kept; else anew for each search."""
        self.shard = FakeShard()
        self.index = make_index(self.shard.load)
        self.loaded_early = loaded_early

    async def put(self, entries):
        for one in entries:
            self.shard.put(one)
            await self.index.put([one])
            if self.loaded_early:
                await self.index.search(query("x", user_id=one.user_id, tenant=one.tenant))

    async def remove(self, tenant, user_id, memory_ids):
        self.shard.remove(tenant, user_id, memory_ids)
        await self.index.remove(tenant, user_id, memory_ids)

    async def search(self, asked):
        if not self.loaded_early:
            await self.index.reopen()
        return await self.index.search(asked)

    def release(self, tenant, user_id):
        self.index.release(tenant, user_id)

    async def reopen(self):
        await self.index.reopen()

    async def check(self):
        await self.index.check()

    async def close(self):
        await self.index.close()
