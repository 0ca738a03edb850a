"""An index that a test can make fail, and a clock that it can set."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from contract.index_examples import CAT, COFFEE

from projections.index.protocol import IndexUnavailable
from projections.index.sync import IndexSync
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.index.encoding import Encoding
    from projections.index.protocol import IndexEntry

OWNER = Owner("default", "u1")
BATCH = 5
"""How many memories are written in one call."""
ACTIVE = {one.memory_id: one for one in (COFFEE, CAT)}


class FallibleIndex:
    """Records its calls; `is_down` makes it unavailable, `meanwhile` is called in the middle of a put.

    There a put waits until `goes_on` is set; `going` is set when one has come so far.
    """

    def __init__(self) -> None:
        self.holds = "the fallible one"
        self.calls: list[Any] = []
        self.removed: list[dict[str, int]] = []
        self.is_down = False
        self.meanwhile: Callable[[], object] = lambda: None
        self.going, self.goes_on = asyncio.Event(), asyncio.Event()
        self.goes_on.set()
        self.beside: FallibleIndex | None = None
        self.there = [1, 2]

    def needs_changes(self, _tenant: str, user_id: str) -> bool:
        return user_id != "not followed"

    @property
    def outlives_process(self) -> bool:
        return True

    async def identity(self) -> str:
        await self.check()
        return self.holds

    async def put(self, entries: Sequence[IndexEntry]) -> None:
        await self.check()
        self.meanwhile()
        self.going.set()
        await self.goes_on.wait()
        self.calls.append([one.memory_id for one in entries])

    async def remove(self, _tenant: str, _user_id: str, memory_ids: Mapping[str, int]) -> None:
        await self.check()
        self.removed.append(dict(memory_ids))

    @property
    def generations(self) -> Any:
        return self

    def open(self, _generation: int) -> Any:
        return self.beside

    async def known(self) -> tuple[int, list[int]]:
        return 1, self.there

    async def reopen(self) -> None:
        self.calls.append("looked again")

    def release(self, _tenant: str, _user_id: str) -> None:
        raise NotImplementedError

    async def check(self) -> None:
        if self.is_down:
            raise IndexUnavailable("down")

    async def search(self, _query: object) -> Any:
        self.calls.append("searched")

    async def close(self) -> None:
        self.calls.append("closed")


class ScriptedSource:
    """Shards in which every user has the active memories ACTIVE; no worker holds the user named `moving`."""

    def __init__(self, *shards: Any) -> None:
        """Take stand-ins for the shards that this worker holds."""
        self.shards = shards

    def all(self) -> Sequence[Any]:
        return self.shards

    def is_held(self, owner: Owner) -> bool:
        return owner.user_id != "moving"

    def entries(self, _owner: Owner, _encoding: Encoding | None = None) -> list[IndexEntry]:
        return list(ACTIVE.values())

    def split(
        self, _owner: Owner, ids: Sequence[str], _encoding: Encoding | None = None
    ) -> tuple[list[IndexEntry], dict[str, int]]:
        return [ACTIVE[one] for one in ids if one in ACTIVE], {one: 1 for one in ids if one not in ACTIVE}


class Seconds:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def sync_of(index: FallibleIndex, seconds: Seconds, *shards: Any) -> IndexSync:
    """Return what synchronises an index with shards, in batches of BATCH."""
    return IndexSync(lambda _: index, ScriptedSource(*shards), batch_memories=BATCH, monotonic=seconds)
