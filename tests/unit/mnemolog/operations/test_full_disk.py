"""While the disk of a shard is full, what can be read is, and a rebuild goes on where it was when there is room."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
import pytest_asyncio
from support.examples import MONDAY, XIAOMING, envelope, later, remember, said
from support.failing_disk import failing_disk
from support.workbench import Workbench

from mnemolog.cluster.peers import Peers
from mnemolog.cluster.scatter_gather import ScatterGather
from mnemolog.cluster.tenant_memories import TenantMemories
from mnemolog.operations.model_usage import ModelUsages, TokenBudgets
from mnemolog.operations.rebuild import Rebuilder, RebuildPlan
from mnemolog.settings import from_environment
from projections.queries.tenant.memories import Wanted
from projections.queries.tenant.model_usage import Span
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner
from schemas.policy import Policy
from schemas.topics import INBOX
from streams.extraction.protocol import Window

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime
    from pathlib import Path

    from schemas.instant import Clock

HERE = "http://here:8420"
OTHER = Owner("another", "anna")
PLAN = RebuildPlan("all", 2, "r-1", 1)


class Noon:
    """A clock that stands."""

    def now(self) -> datetime:
        """Return four hours after Monday's beginning."""
        return later(hours=4)


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "shards" / "1")


@pytest_asyncio.fixture
async def cluster(bench: Workbench, tmp_path: Path) -> AsyncIterator[ScatterGather]:
    peers = Peers(bench.shards, dict, list, HERE)
    yield ScatterGather(bench.shards, peers, HERE, from_environment({}, data_dir=tmp_path))
    await peers.aclose()
    bench.close()


async def decides(bench: Workbench, owner: Owner, text: str, command: str) -> None:
    await bench.decides(replace(remember(text, command), envelope=envelope(command, owner=owner)))


async def answers(bench: Workbench, text: str, turn: str) -> None:
    """Decide on an answer of a model that took 70 tokens in, and fold both."""
    await bench.decides(replace(said(text, turn), model="large", tokens_in=70, tokens_out=5))
    await bench.shards.up_to(INBOX.name, 0, await bench.log.end(INBOX.name, 0))


def wanted(owner: Owner) -> Wanted:
    return Wanted(tenant=owner.tenant, now=MONDAY)


async def test_a_tenant_of_whom_nothing_waits_to_be_committed_is_listed_and_counted(
    bench: Workbench, cluster: ScatterGather
):
    memories = TenantMemories(bench.shards, cluster)
    await decides(bench, OTHER, "喜欢茶", "c-1")
    bench.shards.at(0).committed_file()
    await decides(bench, XIAOMING, "喜欢咖啡", "c-2")
    with failing_disk():
        page = await memories.page(wanted(OTHER), 1, 10)
        assert ([item["content"] for item in page["items"]], page["total"]) == (["喜欢茶"], 1)
        assert (await memories.stats(wanted(OTHER)))["total"] == 1
        with pytest.raises(ShardUnavailable, match="folding goes on by itself"):
            await memories.page(wanted(XIAOMING), 1, 10)
    page = await memories.page(wanted(XIAOMING), 1, 10)
    assert [item["content"] for item in page["items"]] == ["喜欢咖啡"]
    await decides(bench, XIAOMING, "喜欢水", "c-3")
    assert (await memories.page(wanted(XIAOMING), 1, 10))["total"] == 2


async def test_a_tenant_of_whom_something_could_not_even_be_folded_is_not_listed_without_it(
    bench: Workbench, cluster: ScatterGather
):
    memories = TenantMemories(bench.shards, cluster)
    await decides(bench, OTHER, "喜欢茶", "c-1")
    shard = bench.shards.at(0)
    shard.committed_file()
    await decides(bench, XIAOMING, "喜欢咖啡", "c-2")
    with failing_disk():
        shard.writes.try_commit()  # from now on nothing more is folded until this is committed
        deciding = asyncio.create_task(decides(bench, OTHER, "喜欢水", "c-3"))
        while not shard.writes.has_waiting(OTHER.tenant):  # noqa: ASYNC110 - it ends by itself
            await asyncio.sleep(0.01)
        with pytest.raises(ShardUnavailable):
            await memories.page(wanted(OTHER), 1, 10)
    await deciding
    assert (await memories.page(wanted(OTHER), 1, 10))["total"] == 2


async def test_a_digest_waits_for_room_and_says_whose_file_keeps_it(bench: Workbench):
    """It is one of everything that callers were told: without what waits it would be a wrong one."""
    await decides(bench, XIAOMING, "喜欢咖啡", "c-1")
    before = await bench.shards.users.digests()
    await decides(bench, XIAOMING, "喜欢茶", "c-2")
    says = r"of partition 0 is not in its file yet, .*/0\.sqlite: .*, and folding goes on by itself"
    with failing_disk(), pytest.raises(ShardUnavailable, match=says):
        await bench.shards.users.digests()
    after = await bench.shards.users.digests()
    assert after != before
    other = Workbench(bench.shards.at(0).path.parent.with_name("2"), bench.log)
    await other.shards.at(0).catch_up()
    assert after == await other.shards.users.digests()
    other.close()
    bench.close()


async def test_what_the_model_cost_is_told_as_of_the_last_commit_and_budgets_are_kept(
    bench: Workbench, cluster: ScatterGather
):
    usages = ModelUsages(bench.shards, cluster)
    budgets = TokenBudgets(usages, bench.shards, cast("Clock", Noon()))
    policy = Policy(tokens_per_tenant_day=100)
    window = Window(
        tenant="default", user_id="xiaoming", agent_id=None, session_id="s", source_type="chat", source_ref="s",
        pieces=(), policy=policy,
    )  # fmt: skip
    await answers(bench, "喜欢咖啡", "t-1")
    bench.shards.at(0).committed_file()
    await answers(bench, "喜欢茶", "t-2")
    with failing_disk():
        assert (await usages.read("user", Span()))["tokens_in"] == 70
        assert await budgets.allow(window)
    assert (await usages.read("user", Span()))["tokens_in"] == 140
    assert not await budgets.allow(window)


async def test_a_switch_that_meets_a_full_disk_says_what_to_do_and_the_next_rebuild_goes_on_there(
    bench: Workbench, cluster: ScatterGather, tmp_path: Path
):
    assert not cluster.has_others
    await decides(bench, XIAOMING, "喜欢咖啡", "c-1")
    rebuilder = Rebuilder(tmp_path, bench.log, bench.shards, bench.index_sync)
    await rebuilder.build(PLAN)
    with failing_disk(), pytest.raises(ShardUnavailable, match="look at its disk, and do it again"):
        await rebuilder.switch(PLAN)
    await rebuilder.drop(PLAN.rebuild_id)
    generations = rebuilder.generations
    assert (generations.active, generations.complete(), generations.next_number()) == (1, [1], 2)
    await decides(bench, XIAOMING, "喜欢茶", "c-2")
    again = replace(PLAN, rebuild_id="r-2")
    await rebuilder.build(again)
    await rebuilder.switch(again)
    assert (generations.active, generations.complete()) == (2, [1, 2])
    assert {one.content for one in bench.state().memories.values()} == {"喜欢咖啡", "喜欢茶"}
    await rebuilder.close()
