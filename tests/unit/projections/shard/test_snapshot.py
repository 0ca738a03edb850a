"""A shard as of one commit: what is folded, closed or deleted meanwhile changes nothing of it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.examples import remember

from projections.encrypted_files import open_database
from projections.shard.errors import ShardDamaged
from projections.shard.snapshot import ReadSnapshot, count_active, digests_of
from projections.state.digest import digests

if TYPE_CHECKING:
    from support.workbench import Workbench

    from schemas.identity import Owner

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)


def anybody(_: Owner) -> bool:
    return True


async def remembers(bench: Workbench, *drinks: str) -> None:
    for drink in drinks:
        await bench.decides(remember(f"用户喜欢喝{drink}", f"c-{drink}"))
    await bench.shards.at(0).catch_up()


def live(bench: Workbench) -> dict[str, str]:
    ledger = bench.shards.at(0).ledger
    return digests(map(ledger.state, ledger.owners()))


async def test_it_reads_what_was_committed_when_it_was_opened(bench: Workbench):
    await remembers(bench, "咖啡")
    path = bench.shards.at(0).committed_file()
    with closing(ReadSnapshot(path)) as shard:
        before = live(bench)
        await remembers(bench, "茶")
        assert await shard.digests(anybody) == before
        assert await shard.count_active(NOW, anybody) == 1
    assert await digests_of([bench.shards.at(0).committed_file()], anybody) == live(bench) != before
    assert await count_active([path, path], NOW, anybody) == 4


async def test_it_reads_on_when_the_shard_is_closed_and_its_file_is_gone(bench: Workbench):
    await remembers(bench, "咖啡")
    shard, before = bench.shards.at(0), live(bench)
    with closing(ReadSnapshot(shard.committed_file())) as committed:
        bench.shards.assignment.release(0)
        bench.shards.takeover.assign([])
        for file in shard.path.parent.glob(f"{shard.path.name}*"):
            file.unlink()
        assert await committed.digests(anybody) == before


async def test_who_is_not_counted_and_what_has_expired_is_left_out(bench: Workbench):
    await remembers(bench, "咖啡")
    path = bench.shards.at(0).committed_file()
    with closing(open_database(path)) as file:
        expires = (NOW + timedelta(seconds=0.5)).isoformat()
        file.execute(
            "update memories set body = cast(json_set(cast(body as text), '$.expires_at', ?) as blob)", (expires,)
        )
        file.commit()
    assert await count_active([path], NOW, anybody) == 1
    assert await count_active([path], NOW + timedelta(seconds=0.5), anybody) == 1
    assert await count_active([path], NOW + timedelta(seconds=1), anybody) == 0
    assert await count_active([path], NOW, lambda _: False) == 0
    assert await digests_of([path], lambda _: False) == digests([])


async def test_what_is_wanted_no_more_is_read_no_further(bench: Workbench):
    await remembers(bench, "咖啡")

    def nobody_wants_it() -> None:
        raise RuntimeError("given up")

    file = bench.shards.at(0).committed_file()
    with closing(ReadSnapshot(file)) as shard, pytest.raises(RuntimeError, match="given up"):
        await shard.digests(anybody, nobody_wants_it)


async def test_a_damaged_row_is_named_as_damage(bench: Workbench):
    await remembers(bench, "咖啡")
    path = bench.shards.at(0).committed_file()
    with closing(open_database(path)) as file:
        file.execute("update memories set body = ?", (b"\x00 no json",))
        file.commit()
    with pytest.raises(ShardDamaged, match="folded anew"):
        await digests_of([path], anybody)
    with pytest.raises(ShardDamaged, match="folded anew"):
        await count_active([path], NOW, anybody)
