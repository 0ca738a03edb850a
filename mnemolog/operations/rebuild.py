"""Rebuild: folds the log from offset 0 into a new generation while the live one serves, verifies it, and switches.

There are two steps, because several workers each build their partitions: first all build and verify, and only then all
switch. Every shard is a fold of the same log, so a worker that dies between the two steps does no harm; it switches
after its restart.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from mnemolog.operations.generations import Generations
from projections.encrypted_files import sqlite3
from projections.partitions.catch_up import CatchUp
from projections.shard.snapshot import ReadSnapshot
from projections.state.digest import combined

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from mnemolog.operations.reembedding import Reembedder
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.identity import Owner
    from schemas.log import Log

MOVED: Final = "partitions have moved between workers meanwhile: rebuild again"
RUNNING: Final = "a rebuild is running already: wait until it is done"
What: TypeAlias = Literal["all", "shards", "index"]
log = logging.getLogger("mnemolog.rebuild")


class RebuildRunning(Exception):
    """A rebuild is running already: wait for it."""


class RebuildDiffers(Exception):
    """The new generation's digest is not the live one's: nothing was switched; the log or the fold is at fault."""


class RebuildInterrupted(Exception):
    """What was built cannot be switched to: rebuild again."""


class UnknownGeneration(Exception):
    """There is no such generation: `rebuild --list` lists those there are."""


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """The target of a rebuild on all workers; its fields are those of the requests between the workers."""

    what: What
    generation: int
    rebuild_id: str
    switches: int
    """The number of switches by all workers, including this one."""
    encoder: str = ""
    """The encoder whose vectors the index gets, and that then serves; empty for the encoder that serves now."""

    def request(self) -> dict[str, Any]:
        """Return the request to the other workers; workers of an earlier version do not know encoders."""
        fields = asdict(self)
        return fields if self.encoder else {name: fields[name] for name in fields if name != "encoder"}


@dataclass(slots=True)
class Progress:
    """The progress of a rebuild, in records folded."""

    folded: int = 0
    total: int = 0

    @property
    def ratio(self) -> float:
        """The progress, 0 to 1; 1 without a rebuild."""
        return 1.0 if self.total == 0 else min(1.0, self.folded / self.total)


@dataclass(slots=True)
class _Built:
    """A generation that was built and verified, and waits for the switch."""

    generation: int
    held: dict[int, Shard]
    shared: Shard

    @property
    def shards(self) -> list[Shard]:
        return [*self.held.values(), self.shared]


class Rebuilder:
    """Builds and verifies generations of this worker's shards, and switches to them.

    It calls no model and no embedder, because answers and vectors are in the log. For a plan that names an encoder, the
    reembedder first computes the missing vectors.
    """

    def __init__(
        self,
        data_dir: Path,
        log: Log,
        shards: Shards,
        index_sync: IndexSync,
        reembedder: Reembedder | None = None,
    ) -> None:
        self.reembedder = reembedder
        self.generations = Generations(data_dir)
        self._log = log
        self._shards = shards
        self._index_sync = index_sync
        self._coordinates = False
        """Whether this worker coordinates a rebuild on all workers that is not over."""
        self._running = asyncio.Lock()
        self._built: _Built | None = None
        self._rebuild_id = ""
        """The current or last rebuild."""
        self._leases: dict[int, int] = {}
        """The partitions and their leases when building began; the result can be activated only if none has moved."""
        self._given_up = ""
        """The rebuild that was abandoned last."""
        self.progress = Progress()

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Claim the rebuild on all workers until it is over, so that every other coordinator sees it as running.

        Raises RebuildRunning.
        """
        if self.is_running:
            raise RebuildRunning(RUNNING)
        self._coordinates = True
        try:
            yield
        finally:
            self._coordinates = False

    async def build(self, plan: RebuildPlan) -> dict[str, Any]:
        """Build a generation while the live one serves: the held shards, unless only the index is wanted, and an index.

        A formerly active generation is brought up to date; shards that are already live stay unchanged. Returns
        `{decisions, seconds, digests_before, digests_after}`. Raises RebuildRunning, RebuildDiffers,
        RebuildInterrupted, IndexUnavailable, ShardUnavailable, ShardDamaged, and if the plan names an encoder, as
        `EncodingBuilder.build`. The worker keeps serving.
        """
        if self._running.locked():
            raise RebuildRunning(RUNNING)
        async with self._running:
            await self._drop()
            self._rebuild_id = plan.rebuild_id
            self._leases = self._shards.assignment.leases()
            started = time.monotonic()
            try:
                self._check_wanted()
                log.info("generation %s is being built", plan.generation)
                if plan.what == "index" or plan.generation == self.generations.active:
                    before = after = await self._shards.users.digests(self._check_wanted)
                else:
                    before, after = await self._build_shards(plan.generation)
                    log.info("generation %s is verified", plan.generation)
                if plan.encoder and self.reembedder is not None:
                    await self._build_encoded(plan, self.reembedder)
                elif plan.what != "shards":
                    await self._index_sync.build(plan.generation, self._shards.users.owners(), self._check_wanted)
                self._check_wanted()
                log.info("generation %s is built", plan.generation)
            except BaseException:
                await self._drop()
                raise
            finally:
                self.progress = Progress()
            return {
                "decisions": sum(shard.ledger.count() for shard in self._shards.all()),
                "seconds": round(time.monotonic() - started, 3),
                "digests_before": before,
                "digests_after": after,
            }

    @property
    def is_running(self) -> bool:
        """Return whether a build is running, or this worker coordinates one."""
        return self._coordinates or self._running.locked()

    async def switch(self, plan: RebuildPlan) -> None:
        """Make the built generation the live one. The previous generation is kept, older ones are dropped.

        Switching again changes nothing. Raises RebuildInterrupted if this process did not build it, if it was
        abandoned, or if partitions have moved since; ShardUnavailable, ShardDamaged.
        """
        async with self._running:
            if plan.rebuild_id != self._rebuild_id:
                raise RebuildInterrupted(MOVED)
            self._check_wanted()
            if plan.what != "index" and plan.generation != self.generations.active:
                await self._switch_shards(plan)
            elif plan.what != "index":
                self.generations.activate(plan.generation, plan.switches)
            elif plan.encoder and self.reembedder is not None:
                await self.reembedder.begin(plan.encoder, plan.generation, plan.switches)
            await self._index_sync.switch()
            log.info("generation %s is active now", plan.generation)

    async def drop(self, rebuild_id: str) -> None:
        """Abandon what this rebuild has built and not switched to; building has ended when this returns."""
        self._given_up = rebuild_id
        if rebuild_id == self._rebuild_id:
            await self.close()

    async def erase_from_built(self, owner: Owner) -> None:
        """Remove erased data from the generation that is being built, or that a rebuild left incomplete.

        Raises ShardUnavailable, ShardDamaged.
        """
        while (built := self._built) is not None:
            shard = built.shared if owner.is_global else built.held.get(self._shards.partition(owner))
            if shard is None:
                return
            try:
                await shard.up_to(shard.ledger_topic, await self._log.end(shard.ledger_topic, shard.partition))
                await shard.clear_deleted()
            except sqlite3.ProgrammingError:  # it was abandoned meanwhile, and is closed
                if self._built is built:
                    raise
            else:
                return
        self.generations.drop_half_built()

    async def close(self) -> None:
        """Abandon the current build, and a finished one that was not switched to."""
        self._given_up = self._rebuild_id
        async with self._running:
            await self._drop()

    async def _build_encoded(self, plan: RebuildPlan, reembedder: Reembedder) -> None:
        encoding = await reembedder.prepare(plan.encoder, self._check_wanted)
        await self._index_sync.build(plan.generation, self._shards.users.owners(), self._check_wanted, encoding)
        await reembedder.refresh(self._check_wanted)

    async def _build_shards(self, generation: int) -> tuple[dict[str, str], dict[str, str]]:
        held, shared = self._shards.open_generation(self.generations.begin(generation))
        self._built = built = _Built(generation, held, shared)
        self.progress = Progress(
            folded=sum(shard.offset(t) for shard in built.shards for t in shard.topics),
            total=sum([await self._log.end(t, shard.partition) for shard in built.shards for t in shard.topics]),
        )
        for shard in built.shards:
            async with shard.folding:  # an erasure may fold it meanwhile
                if not await self._shards.takeover.comparison.follows_log(shard):
                    shard.start_over()
        await self._shards.takeover.fold_processes.fold_all(built.shards, self._advance)
        for shard in (*built.shards, *built.shards):  # twice, so that little is left to fold during the pause
            await CatchUp(shard, self._advance).run_in_thread()
        for shard in built.held.values():
            await self._take_turn_vectors_over(self._shards.at(shard.partition), shard)
        before, after = [], []
        with ExitStack() as opened:
            async with self._pause_folding(built) as live:
                pairs = [
                    [opened.enter_context(closing(ReadSnapshot(shard.committed_file()))) for shard in pair]
                    for pair in zip(live, built.shards, strict=True)
                ]
            # Read as of the moment of the pause, while the live shards continue to fold.
            for shard, pair in zip(built.shards, pairs, strict=True):
                old, new = await pair[0].digests_beside(pair[1], _any_owner, self._check_wanted)
                if old != new:
                    self.generations.drop(generation)
                    raise RebuildDiffers(
                        f"the live digest of {shard.path.name} is {old['total']}, the rebuilt one {new['total']}: "
                        "nothing was switched"
                    )
                if shard is built.shared:  # all workers have the global memories; each counts its own
                    old, new = await pair[0].digests_beside(pair[1], self._shards.counts)
                before.append(old)
                after.append(new)
                for each in pair:
                    each.close()
        return combined(before), combined(after)

    async def _take_turn_vectors_over(self, live: Shard, built: Shard) -> None:
        """Copy the vectors of turns, which are not in the log: an embedder would have to compute them again."""
        for name in live.turn_vectors.owners():
            self._check_wanted()
            async with built.folding:
                built.turn_vectors.take_over(live.turn_vectors, name)

    async def _switch_shards(self, plan: RebuildPlan) -> None:
        built = self._built
        if built is None or built.generation != plan.generation:
            raise RebuildInterrupted(f"generation {plan.generation} is not built here any more: rebuild again")
        for shard in built.shards:
            await CatchUp(shard, lambda _: self._check_wanted()).run_in_thread()  # so that the pause is short
        async with self._pause_folding(built):
            self._check_wanted()
            before = self.generations.active
            self.generations.finish(plan.generation, plan.switches)
            retired = self._shards.switch(self.generations.folder(plan.generation), built.held, built.shared)
            self._built = None
        for shard in retired:
            shard.close()
        self.generations.keep_only({before, plan.generation})

    def _check_wanted(self) -> None:
        """Raise RebuildInterrupted if the rebuild was abandoned, or can no longer be switched to."""
        if self._given_up == self._rebuild_id:
            raise RebuildInterrupted("the caller has given the rebuild up")
        if self._leases != self._shards.assignment.leases():
            raise RebuildInterrupted(MOVED)

    @asynccontextmanager
    async def _pause_folding(self, built: _Built) -> AsyncIterator[list[Shard]]:
        """Bring the live shards and the built ones to the same offsets and pause all folding; yield the live ones.

        Raises RebuildInterrupted if partitions have moved.
        """
        live = self._shards.all()
        async with AsyncExitStack() as paused:
            for shard in (*live, *built.shards):
                await paused.enter_async_context(shard.folding)
            if self._shards.held() == sorted(built.held):
                for old, new in zip(live, built.shards, strict=True):
                    for topic in new.topics:
                        # The new shard has read the log to its end, which the live one may not have reached yet.
                        end = max(old.offset(topic), new.offset(topic))
                        await old.level(topic, end)
                        await new.level(topic, end)
            if self._shards.held() != sorted(built.held):
                raise RebuildInterrupted(MOVED)
            yield live

    async def _drop(self) -> None:
        built, self._built = self._built, None
        for shard in built.shards if built is not None else ():
            shard.close()
        if self.reembedder is not None:
            await self.reembedder.settle()
        await self._index_sync.drop_built()
        if self.reembedder is not None:
            self.reembedder.drop_prepared()

    def _advance(self, records: int) -> None:
        self._check_wanted()
        self.progress.folded += records


def _any_owner(_: Owner) -> bool:
    return True
