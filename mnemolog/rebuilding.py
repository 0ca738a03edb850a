"""rebuild: folds the ledger from offset 0 into a fresh generation beside the live one, verifies it, and switches."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from projections.digest import digests

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from projections.shard import Shard
    from projections.shards import Shards
    from schemas.log import Log

What: TypeAlias = Literal["all", "shards", "index"]
ACTIVE_FILE: Final = "active"


class RebuildRunning(Exception):
    """A rebuild is running already: wait for it."""


class RebuildDiffers(Exception):
    """The new generation's digest is not the live one's: nothing was switched; the log or the fold is at fault."""


@dataclass(slots=True)
class Progress:
    """How far a rebuild has come: records folded, of how many."""

    folded: int = 0
    total: int = 0

    @property
    def ratio(self) -> float:
        """0 to 1; 1 when none is running."""
        return 1.0 if self.total == 0 else min(1.0, self.folded / self.total)


def active_folder(data_dir: Path) -> Path:
    """Return the folder of the active generation; generation 1 when there is none yet. Removes what was replaced."""
    shards = data_dir / "shards"
    shards.mkdir(parents=True, exist_ok=True)
    pointer = shards / ACTIVE_FILE
    named = pointer.read_text("ascii", "replace") if pointer.exists() else ""
    if not named.isdecimal():  # lost or cut off: any generation will do, because each is a fold of the log
        folders = [int(f.name) for f in shards.iterdir() if f.is_dir() and f.name.isdecimal()]
        named = str(max(folders, default=1))
        _point(pointer, int(named))
    generation = int(named)
    for folder in shards.iterdir():
        if folder.is_dir() and folder.name.isdigit() and int(folder.name) < generation:
            shutil.rmtree(folder)
    return shards / str(generation)


def _point(pointer: Path, generation: int) -> None:
    """Name the active generation, whole or not at all."""
    beside = pointer.with_suffix(".new")
    with beside.open("w", encoding="ascii") as file:
        file.write(str(generation))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(pointer)
    folder = os.open(pointer.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Rebuilding:
    """Calls no model and no embedder: answers and vectors are in the log."""

    def __init__(self, data_dir: Path, log: Log, shards: Shards) -> None:
        self._folder = data_dir / "shards"
        self._log = log
        self._shards = shards
        self._running = asyncio.Lock()
        self.progress = Progress()

    async def rebuild(self, what: What = "all") -> dict[str, Any]:
        """Rebuild shards, the index, or both; return generation, decisions, seconds, both digests, and `equal`.

        Raises RebuildRunning, RebuildDiffers. The worker serves all the while.
        """
        if self._running.locked():
            raise RebuildRunning("a rebuild is running already: wait until it is done")
        async with self._running:
            started = time.monotonic()
            try:
                found = await self._rebuild(what)
            finally:
                self.progress = Progress()
            return found | {"seconds": round(time.monotonic() - started, 3)}

    async def _rebuild(self, what: What) -> dict[str, Any]:
        generation = int((self._folder / ACTIVE_FILE).read_text("ascii"))
        if what == "index":
            before = _digest(self._shards.all())
            await self._shards.rebuild_index()
            return _report(generation, self._decisions(), before, _digest(self._shards.all()))
        generation += 1
        building = self._folder / str(generation)  # complete when the pointer names it; until then a rebuild goes on
        held, shared = self._shards.open_generation(building, lambda _owner, _ids: None)
        fresh = [*held.values(), shared]
        switched = False
        try:
            self.progress = Progress(
                folded=sum(shard.offset(t) for shard in fresh for t in shard.topics),
                total=sum([await self._log.end(t, shard.partition) for shard in fresh for t in shard.topics]),
            )
            for shard in fresh:
                await shard.catch_up_in_thread(self._advance)
            async with AsyncExitStack() as still:
                live = self._shards.all()
                for shard in live:
                    await still.enter_async_context(shard.folding)
                for old, new in zip(live, fresh, strict=True):
                    for topic in new.topics:
                        # The new one read the log to its end, and the live one may not have come there yet.
                        both = max(old.offset(topic), new.offset(topic))
                        await old.level(topic, both)
                        await new.level(topic, both)
                before, after = _digest(live), _digest(fresh)
                if before != after:
                    shutil.rmtree(building)
                    raise RebuildDiffers(f"the live digest is {before}, the rebuilt one {after}: nothing was switched")
                _point(self._folder / ACTIVE_FILE, generation)
                retired = self._shards.switch(held, shared)
                switched = True
        finally:
            if not switched:
                for shard in fresh:
                    shard.close()
        try:
            await self._shards.rebuild_index()
        finally:
            for shard in retired:
                shard.close()
            shutil.rmtree(self._folder / str(generation - 1), ignore_errors=True)
        return _report(generation, self._decisions(), before, after)

    def _advance(self, records: int) -> None:
        self.progress.folded += records

    def _decisions(self) -> int:
        return sum(shard.ledger.count() for shard in self._shards.all())


def _digest(shards: Iterable[Shard]) -> str:
    return digests(s.ledger.state(o) for s in shards for o in s.ledger.owners())["total"]


def _report(generation: int, decisions: int, before: str, after: str) -> dict[str, Any]:
    return {
        "generation": generation,
        "decisions": decisions,
        "digest_before": before,
        "digest_after": after,
        "equal": before == after,
    }
