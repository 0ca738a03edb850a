"""A rebuild on all workers: planned by one from what all have, and caught up with by one that was away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from support.examples import remember
from support.workbench import Workbench

from mnemolog.cluster.peers import Peers, PeerUnavailable
from mnemolog.cluster.scatter_gather import ScatterGather
from mnemolog.operations.generations import NO_SWITCHES
from mnemolog.operations.rebuild import Rebuilder, RebuildRunning, UnknownGeneration
from mnemolog.operations.rebuild_coordinator import RebuildCoordinator
from mnemolog.settings import from_environment
from projections.state.digest import combined

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

BUILT = {"decisions": 0, "seconds": 0.0, "digests_before": combined([]), "digests_after": combined([])}


class OnePeer(Peers):
    """A peer without partitions, with generations of its own; it keeps what it is asked, and dies at `dies_at`."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench.shards, dict, lambda: ["http://peer"], "http://here")
        self.generations: dict[str, Any] = {"active": 1, "complete": [1], "following": 2, "switches": 0}
        self.is_running = False
        self.requests: list[tuple[str, Any]] = []
        self.dies_at = ""

    async def ask(self, url: str, target: str, body: object, seconds: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        operation = target.removeprefix("/v1/internal/")
        if operation == self.dies_at:
            raise PeerUnavailable("the worker at http://peer does not answer")
        answers = {"generations": self.generations | {"running": self.is_running}, "rebuild/build": BUILT}
        if operation != "generations":
            self.requests.append((operation, body))
        return {"partitions": [], "body": answers.get(operation, {})}


class Pair:
    """A worker with one memory, and its peer."""

    def __init__(self, folder: Path) -> None:
        self.bench = Workbench(folder / "shards" / "1")
        self.peer = OnePeer(self.bench)
        shards, index_sync = self.bench.shards, self.bench.index_sync
        self.rebuilder = Rebuilder(folder, self.bench.log, shards, index_sync)
        self.generations = self.rebuilder.generations
        cluster = ScatterGather(shards, self.peer, "http://here", from_environment({}, data_dir=folder))
        self.rebuild = RebuildCoordinator(self.rebuilder, cluster, shards, index_sync)


@pytest_asyncio.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    pair = Pair(tmp_path)
    await pair.bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    pair.bench.shards.takeover.assign([0])
    await pair.bench.shards.takeover.fold_globals()
    yield pair
    await pair.peer.aclose()
    pair.bench.close()


async def test_all_workers_build_the_same_plan_and_then_switch_to_it(pair: Pair):
    pair.peer.generations |= {"following": 5, "switches": 3}
    report = await pair.rebuild.run("all")
    assert (report["generation"], report["decisions"], report["equal"]) == (5, 1, True)
    plan = pair.peer.requests[0][1]
    assert plan | {"rebuild_id": ""} == {"what": "all", "generation": 5, "rebuild_id": "", "switches": 4}
    assert pair.peer.requests == [(name, plan) for name in ("rebuild/build", "rebuild/switch", "rebuild/drop")]
    assert (pair.generations.active, pair.generations.switches) == (5, 4)


async def test_a_worker_that_dies_while_all_build_leaves_all_as_they_were(pair: Pair):
    pair.peer.dies_at = "rebuild/build"
    with pytest.raises(PeerUnavailable):
        await pair.rebuild.run("all")
    assert (pair.generations.active, pair.rebuilder.is_running) == (1, False)
    assert [operation for operation, _ in pair.peer.requests] == ["rebuild/drop"]


async def test_a_rebuild_that_another_worker_runs_is_seen(pair: Pair):
    pair.peer.is_running = True
    with pytest.raises(RebuildRunning):
        await pair.rebuild.run("all")
    assert pair.peer.requests == []


async def test_a_generation_that_no_worker_has_cannot_be_activated(pair: Pair):
    with pytest.raises(UnknownGeneration, match="there is no generation 7"):
        await pair.rebuild.run("all", 7)


async def test_the_generations_of_all_workers_are_listed(pair: Pair):
    pair.peer.generations |= {"active": 3, "complete": [2, 3]}
    assert await pair.rebuild.generations() == {"active": 3, "generations": [1, 2, 3]}


async def test_a_worker_that_was_away_catches_up_with_the_others(pair: Pair):
    pair.generations.activate(1, 0)
    pair.peer.generations |= {"active": 2, "switches": 1}
    await pair.rebuild.catch_up()
    assert (pair.generations.active, pair.generations.switches) == (2, 1)
    assert [memory.content for memory in pair.bench.state().memories.values()] == ["用户喜欢喝咖啡"]


async def test_a_worker_with_new_shards_keeps_them_and_counts_as_caught_up(pair: Pair):
    pair.generations.activate(1, NO_SWITCHES)
    pair.peer.generations |= {"active": 4, "switches": 2}
    await pair.rebuild.catch_up()
    assert (pair.generations.active, pair.generations.switches) == (1, 2)


async def test_nothing_is_caught_up_with_while_a_rebuild_runs(pair: Pair):
    pair.generations.activate(1, 0)
    pair.peer.generations |= {"active": 2, "switches": 1}
    pair.peer.is_running = True
    await pair.rebuild.catch_up()
    assert (pair.generations.active, pair.generations.switches) == (1, 0)
