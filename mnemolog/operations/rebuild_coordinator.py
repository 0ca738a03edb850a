"""A rebuild on all workers: one of them plans it, makes all build, then all switch, and then switches the index.

An index that workers share is switched last, for all at once. A worker that is unavailable meanwhile catches up later.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mnemolog.operations.generations import NO_SWITCHES
from mnemolog.operations.rebuild import RUNNING, RebuildPlan, RebuildRunning, UnknownGeneration
from projections.index.protocol import IndexUnavailable
from projections.state.digest import combined

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.operations.rebuild import Rebuilder, What
    from projections.index.protocol import IndexGenerations
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards


@dataclass(frozen=True, slots=True)
class _SharedIndex:
    """The index that workers share at the start of a rebuild: the generation in use, and all that are kept."""

    generations: IndexGenerations
    searched: int
    kept: Collection[int]


class RebuildCoordinator:
    """Rebuilds on all workers at the request of one, and brings this worker to the generation of the others."""

    def __init__(self, rebuilder: Rebuilder, cluster: ScatterGather, shards: Shards, index_sync: IndexSync) -> None:
        """`rebuilder` does this worker's share."""
        self._rebuilder = rebuilder
        self._cluster = cluster
        self._shards = shards
        self._index_sync = index_sync

    async def run(self, what: What, generation: int | None = None) -> dict[str, Any]:
        """Build a generation on all workers, verify it and switch to it; an earlier one is brought up to date.

        All workers build before any switches. A generation that is active everywhere stays unchanged. Returns
        `{generation, decisions, seconds, digest_before, digest_after, equal}`. Raises UnknownGeneration, WorkersDiffer,
        RebuildRunning, RebuildDiffers, RebuildInterrupted, PeerUnavailable; nothing is wrong then. If some workers have
        already switched to the new shards, which are the same fold, the others do so later (`catch_up`).
        """
        with self._rebuilder.claim():  # of two simultaneous coordinators, at least one sees the other
            return await self._run(what, generation)

    async def serve(self, encoder: str) -> dict[str, Any]:
        """Build the index of an encoder's vectors on all workers, and let the encoder serve on all of them.

        If each worker builds its index from its shards, there is none to build. Returns and raises as `run`, and raises
        as `EncodingBuilder.build`.
        """
        with self._rebuilder.claim():
            return await self._run("index", None, encoder)

    async def generations(self) -> dict[str, Any]:
        """Return the active generation, and all that can be activated. Raises PeerUnavailable."""
        answers = await self._all_generations()
        known = {g for body in answers for g in body["complete"]}
        return {"active": max(body["active"] for body in answers), "generations": sorted(known)}

    async def local_generations(self) -> dict[str, Any]:
        """Return the generations of this worker's shards."""
        known = self._rebuilder.generations
        numbers = {"active": known.active, "complete": known.complete(), "following": known.next_number()}
        body = {**numbers, "switches": known.switches, "running": self._rebuilder.is_running}
        reembedder = self._rebuilder.reembedder
        return body if reembedder is None else body | {"encoder": reembedder.served()}

    async def switch_local(self, plan: RebuildPlan) -> dict[str, Any]:
        """Switch this worker to the generation that it has built. Raises as `Rebuilder.switch`."""
        await self._rebuilder.switch(plan)
        return {}

    async def catch_up(self) -> None:
        """Switch this worker to the generation and the encoder of the others, if they have switched without it.

        This happens if it died between two workers' switches, or was unavailable during a rebuild. A worker whose
        shards are new keeps them. Raises PeerUnavailable, RebuildRunning, RebuildDiffers, RebuildInterrupted,
        EmbedderUnusable, IndexUnavailable.
        """
        others = [answer.body for answer in await self._cluster.ask_others("generations", {}, None)]
        if not others or any(body["running"] for body in others) or not self._shards.assignment.is_settled:
            return
        await self._catch_up_shards(others)
        if self._rebuilder.reembedder is not None and not self._rebuilder.is_running:
            with self._rebuilder.claim():
                await self._rebuilder.reembedder.catch_up([body["encoder"] for body in others if "encoder" in body])

    async def _catch_up_shards(self, others: Sequence[dict[str, Any]]) -> None:
        switches, wanted = max((_switches(body), body["active"]) for body in others)
        generations = self._rebuilder.generations
        if switches <= generations.switches:
            return
        if wanted == generations.active or generations.switches == NO_SWITCHES:
            generations.activate(generations.active, switches)
            return
        plan = RebuildPlan("shards", wanted, str(uuid4()), switches)
        with self._rebuilder.claim():
            try:
                await self._rebuilder.build(plan)
                await self._rebuilder.switch(plan)
            finally:
                await self._rebuilder.drop(plan.rebuild_id)

    async def _run(self, what: What, generation: int | None, encoder: str = "") -> dict[str, Any]:
        await self._cluster.check_settings()
        answers = await self._all_generations()
        if any(body["running"] for body in answers[1:]):  # the first is this worker's own
            raise RebuildRunning(RUNNING)
        index = await self._shared_index(what)
        if generation is not None and not any(generation in body["complete"] for body in answers):
            raise UnknownGeneration(
                f"there is no generation {generation} to activate: `rebuild --list` shows those there are"
            )
        if what == "index" and index is None:  # it is built from the active shards at the next search
            number = max(body["active"] for body in answers)
        else:
            kept = index.kept if index is not None else ()
            number = generation or max([body["following"] for body in answers] + [g + 1 for g in kept])
        if index is not None and number == index.searched:
            what = "index" if what == "index" else "shards"
            index = None
        if index is not None and number in index.kept:
            await index.generations.drop(number)
        switches = max(0, *map(_switches, answers), *map(_encoder_switches, answers))
        plan = RebuildPlan(what, number, str(uuid4()), 1 + switches, encoder)
        built = await self._build_and_switch(plan, index)
        if index is not None:
            for other in set(index.kept) - {number, index.searched}:
                await index.generations.drop(other)
        before = combined(body["digests_before"] for body in built)["total"]
        after = combined(body["digests_after"] for body in built)["total"]
        return {
            "generation": number,
            "decisions": sum(body["decisions"] for body in built),
            "seconds": max(body["seconds"] for body in built),
            "digest_before": before,
            "digest_after": after,
            "equal": before == after,
        }

    async def _shared_index(self, what: What) -> _SharedIndex | None:
        """Return the index to build; None if it is not wanted, or each worker builds its own from its shards."""
        generations = None if what == "shards" else self._index_sync.generations
        return None if generations is None else _SharedIndex(generations, *await generations.known())

    async def _build_and_switch(self, plan: RebuildPlan, index: _SharedIndex | None) -> list[dict[str, Any]]:
        """Make all workers build, then all switch, then switch the index; return each worker's result."""
        request = plan.request()
        unfinished = index
        try:
            built = await self._cluster.gather(self._rebuilder.build(plan), "rebuild/build", request, None)
            # Twice with a shared index: a worker that has died since no longer follows the new index, and refuses.
            for _ in range(1 if index is None else 2):
                await self._cluster.gather(self.switch_local(plan), "rebuild/switch", request, None)
            unfinished = None  # if moving the alias fails, it may have moved all the same
            if index is not None:
                await index.generations.activate(plan.generation)
        finally:
            await asyncio.shield(self._give_up(plan, unfinished))
        return built

    async def _give_up(self, plan: RebuildPlan, unfinished: _SharedIndex | None) -> None:
        """Make every available worker abandon what it has built and not switched to.

        Then delete what a failed rebuild has written to the index; if the index is unavailable, the next success
        deletes it.
        """
        await self._rebuilder.drop(plan.rebuild_id)
        await self._cluster.notify_others("rebuild/drop", plan.request())
        if unfinished is not None:
            with suppress(IndexUnavailable):
                searched, kept = await unfinished.generations.known()
                if plan.generation in set(kept) - {searched}:
                    await unfinished.generations.drop(plan.generation)

    async def _all_generations(self) -> list[dict[str, Any]]:
        return await self._cluster.gather(self.local_generations(), "generations", {}, None)


def _switches(body: dict[str, Any]) -> int:
    """Return the number of switches of shards that a worker knows; an older version counts none."""
    switches: int = body.get("switches", 0)
    return switches


def _encoder_switches(body: dict[str, Any]) -> int:
    """Return the number of switches at the time when a worker's encoder began to serve."""
    switches: int = body.get("encoder", {}).get("switches", 0)
    return switches
