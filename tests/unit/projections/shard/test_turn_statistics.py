"""What is counted of turns: once each, as far as the log holds them, and the same after a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.examples import XIAOMING, later
from support.workbench import Workbench

from projections.encrypted_files import open_database
from projections.partitions.retention import remove_expired
from projections.shard.tables import connect
from projections.state.intimacy import Intimacy
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from projections.shard.turn_statistics import TurnStatistics


async def counted(bench: Workbench) -> TurnStatistics:
    shard = bench.shards.at(0)
    await shard.catch_up()
    return shard.turn_statistics


async def test_a_turn_counts_once_however_often_it_comes(bench: Workbench):
    for _ in range(2):
        await bench.says("t-1", "早上好。喝咖啡！", occurred_at="2026-01-05T07:00:00Z")
    await bench.says("t-2", "晚安", occurred_at="2026-01-04T22:00:00Z", metadata={"timezone": "+08:00"})
    await bench.says("t-3", "Good morning!", role="assistant", occurred_at="2026-01-05T07:00:00Z")
    usage = (await counted(bench)).usage(XIAOMING, None)
    assert (usage.turns_by_hour, usage.sentences, usage.words, usage.chinese_turns) == ({6: 1, 7: 1}, 3, 8, 2)


async def test_another_event_with_the_same_id_does_not_count(bench: Workbench):
    await bench.says("t-1", "早", occurred_at="2026-01-05T07:00:00Z")
    await bench.says("t-1", "晚", occurred_at="2026-01-04T20:00:00Z")
    assert (await counted(bench)).usage(XIAOMING, None).turns_by_hour == {7: 1}


async def test_counts_are_of_an_agent_and_up_to_an_instant(bench: Workbench):
    await bench.says("t-1", "早", occurred_at="2026-01-05T07:00:00Z")
    await bench.says("t-2", "早", occurred_at="2026-01-05T07:30:00Z", agent_id="aria")
    said = await counted(bench)
    assert said.usage(XIAOMING, "luna").turns == 1
    assert said.usage(XIAOMING, "nova").turns == 0
    assert said.usage(XIAOMING, None).turns == 2
    assert said.usage(XIAOMING, None, later(minutes=-45)).turns == 1
    await bench.says("t-3", "早", occurred_at="2026-01-05T07:45:00Z")
    assert (await counted(bench)).usage(XIAOMING, None).turns == 3, "what was counted before is counted anew"


async def test_the_last_intimacy_is_that_of_the_latest_turn_whoever_said_it(bench: Workbench):
    said = await counted(bench)
    assert said.last_intimacy(XIAOMING, None) is None
    await bench.says("t-1", occurred_at="2026-01-05T07:00:00Z", context={"intimacy": 30})
    await bench.says("t-2", occurred_at="2026-01-05T06:00:00Z", context={"intimacy": 90}, role="assistant")
    await bench.says("t-3", occurred_at="2026-01-05T08:00:00Z")
    said = await counted(bench)
    assert said.last_intimacy(XIAOMING, "luna") == Intimacy(later(hours=-1), 30)
    assert said.last_intimacy(XIAOMING, "aria") is None
    await bench.says("t-4", occurred_at="2025-12-31T08:00:00Z", context={"intimacy": 5})
    assert (await counted(bench)).intimacies(XIAOMING, None, later(hours=1)) == {"2025-12": 5, "2026-01": 30}


async def test_what_retention_drops_counts_no_more_and_a_repeat_takes_its_place(bench: Workbench, tmp_path: Path):
    await bench.says("t-1", "早", occurred_at="2026-01-05T07:00:00Z", context={"intimacy": 30})
    await bench.says("t-2", "早", occurred_at="2026-01-05T07:00:00Z")
    await bench.says("t-2", "早", occurred_at="2026-01-05T07:00:00Z")
    said = await counted(bench)
    assert said.usage(XIAOMING, None).turns == 2
    await bench.log.drop_before(CONVERSATIONS.name, 0, 2)
    await remove_expired(bench.log, bench.shards)
    assert (said.usage(XIAOMING, None).turns, said.last_intimacy(XIAOMING, None)) == (1, None)
    again = Workbench(tmp_path / "two", bench.log)
    assert (await counted(again)).usage(XIAOMING, None) == said.usage(XIAOMING, None)
    again.close()


async def test_a_shard_of_an_earlier_version_is_emptied_and_folded_anew(bench: Workbench, tmp_path: Path):
    await bench.says("t-1", "早", occurred_at="2026-01-05T07:00:00Z")
    await counted(bench)
    bench.close()
    with open_database(tmp_path / "one" / "0.sqlite") as connection:
        connection.execute("drop table said")
        connection.execute("create table older(x)")
        connection.execute("pragma user_version=1")
    connection.close()
    again = Workbench(tmp_path / "one", bench.log)
    assert again.shards.at(0).offset(CONVERSATIONS.name) == 0
    assert (await counted(again)).usage(XIAOMING, None).turns == 1
    again.close()
    kept = connect(tmp_path / "one" / "0.sqlite")
    tables = {name for (name,) in kept.execute("select name from sqlite_master where type='table'").fetchall()}
    kept.close()
    assert "older" not in tables
