"""What the log holds no more is in no shard: a live shard is what a rebuilt one would be."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from support.examples import XIAOMING, later
from support.memory_log import MemoryLog
from support.workbench import Workbench

from projections.encrypted_files import open_database
from projections.partitions.retention import remove_expired
from projections.state.evolve import events_of
from schemas.log import LogError, LogUnavailable
from schemas.messages.events import TickApplied
from schemas.topics import CONVERSATIONS, INBOX
from streams.agents.remember import Remember
from streams.agents.retention import REMOVAL_SECONDS, RetentionTask, first_since
from streams.decisions.parameters import Parameters
from streams.ticks.scheduler import retention_due

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from projections.shard.shard import Shard


def kept_rows(shard: Shard) -> dict[str, list[Any]]:
    """Return every row of a shard's file."""
    with open_database(shard.committed_file()) as connection:
        tables = [n for (n,) in connection.execute("select name from sqlite_master where type='table'")]
        found = {t: sorted(connection.execute(f"select * from {t}").fetchall(), key=repr) for t in tables}  # noqa: S608
    connection.close()
    return found


async def rebuilt(bench: Workbench, folder: Path) -> dict[str, list[Any]]:
    again = Workbench(folder, bench.log)
    for shard in again.shards.all():
        await shard.catch_up()
    rows = kept_rows(again.shards.at(0))
    again.close()
    return rows


async def test_a_live_shard_forgets_what_the_log_has_dropped_and_equals_a_rebuilt_one(bench: Workbench, tmp_path: Path):
    records = [await bench.says(f"t-{n}") for n in range(5)]
    records.append(await bench.says("t-1"))  # repeated, and its repeat is still there
    records += [
        await bench.says("t-0", role=None),
        await bench.says("t-7", role=None),
        await bench.says("t-8", role=None),
    ]
    await bench.observes(*records, await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    await bench.shards.at(0).catch_up()
    before = kept_rows(bench.shards.at(0))
    assert len(before["observations"]) == 6
    await bench.log.drop_before(CONVERSATIONS.name, 0, 4)
    assert await remove_expired(bench.log, bench.shards, rows=2) == 4
    live = kept_rows(bench.shards.at(0))
    assert live == await rebuilt(bench, tmp_path / "two")
    assert [row[1] for row in live["observations"]] == ["e-1", "t-1", "t-4"]
    for table in ("covered", "extracted", "decisions", "memories", "cited", "items"):
        assert (live[table], len(live[table]) > 0) == (before[table], True), table
    await bench.log.drop_before(CONVERSATIONS.name, 0, 8)
    await remove_expired(bench.log, bench.shards)
    assert kept_rows(bench.shards.at(0)) == await rebuilt(bench, tmp_path / "three")
    assert await remove_expired(bench.log, bench.shards) == 0


async def test_what_was_dropped_and_comes_again_is_not_extracted_again(bench: Workbench):
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    await bench.log.drop_before(CONVERSATIONS.name, 0, 2)
    await remove_expired(bench.log, bench.shards)
    assert bench.shards.at(0).observations.seen(XIAOMING, ["t-1"]) == {}
    await bench.observes(await bench.says("t-1"), await bench.ends("e-2"))
    assert bench.extractor.asked == [["t-1#0"]]


class Kept:
    """A workbench with a remember that removes: everything in the log before `handled` may go."""

    def __init__(self, bench: Workbench, removal_seconds: float = REMOVAL_SECONDS) -> None:
        """Begin with everything handled."""
        self.bench = bench
        self.handled = 1_000
        task = RetentionTask(
            bench.log, bench.shards, lambda _topic, _partition: self.handled, removal_seconds=removal_seconds
        )
        bench.remember = Remember(
            log=bench.log,
            shards=bench.shards,
            index_sync=bench.index_sync,
            pool=bench.deciding_pool,
            parameters=Parameters(),
            remove=task.remove,
        )

    async def tick(self, as_of: datetime, days: float = 30) -> TickApplied:
        """Decide a tick of retention, twice delivered, and return its closing event."""
        record = await self.bench.decides(retention_due(0, as_of, days))
        await self.bench.remembers(record)
        closing = (await self.bench.ledger())[-1]
        [event] = events_of(closing)
        assert isinstance(event, TickApplied)
        return event


async def test_a_tick_removes_the_observations_that_were_logged_before_its_retention(bench: Workbench, tmp_path: Path):
    kept = Kept(bench)
    for day in range(4):
        bench.log.now = later(days=day)
        await bench.says(f"t-{day}")
    await bench.shards.at(0).catch_up()
    event = await kept.tick(later(days=32))
    assert (event.policy, event.expired, event.decayed) == ("retention", 2, 0)
    assert await bench.log.earliest(CONVERSATIONS.name, 0) == 2  # that of the very instant stays
    live = kept_rows(bench.shards.at(0))
    assert [row[1] for row in live["observations"]] == ["t-2", "t-3"]
    assert live == await rebuilt(bench, tmp_path / "two")


async def test_retention_is_decided_once_and_says_what_is_kept(bench: Workbench):
    kept = Kept(bench)
    await bench.says("t-1")
    assert (await kept.tick(later(days=29))).expired == 0
    [decision] = await bench.ledger()
    [outcome] = decision.outcomes
    assert (outcome.action, outcome.reason) == (
        "nothing",
        "0 observations removed: those logged since 2026-01-04T08:00:00+00:00 are kept",
    )


async def test_what_was_not_handled_yet_is_not_removed(bench: Workbench):
    kept = Kept(bench)
    await bench.says("t-1")
    await bench.says("t-2")
    await bench.shards.at(0).catch_up()
    kept.handled = 1
    assert (await kept.tick(later(days=100))).expired == 1
    assert await bench.log.earliest(CONVERSATIONS.name, 0) == 1


async def test_zero_days_keep_observations_for_ever(bench: Workbench):
    await bench.says("t-1")
    await bench.shards.at(0).catch_up()
    assert (await Kept(bench).tick(later(days=10_000), days=0)).expired == 0
    assert await bench.log.earliest(CONVERSATIONS.name, 0) == 0


async def test_memories_outlive_their_observations(bench: Workbench):
    kept = Kept(bench)
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    before = bench.state().memories
    assert (await kept.tick(later(days=100))).expired == 2
    assert bench.state().memories == before
    assert len(before) == 1


class ForbiddingLog(MemoryLog):
    """A log of which nothing may be deleted: a right is missing."""

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Refuse."""
        raise LogError(f"{topic}:{partition}: nothing before {offset} may be deleted")


async def test_a_log_that_does_not_allow_it_keeps_its_observations_and_the_tick_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    bench = Workbench(tmp_path / "own", ForbiddingLog())
    await bench.says("t-1")
    await bench.shards.at(0).catch_up()
    assert (await Kept(bench).tick(later(days=100))).expired == 0
    assert "old observations stay in mnemolog.conversations until its own retention" in caplog.text
    bench.close()


class SilentLog(MemoryLog):
    """A log that deletes nothing, and says each time that it does not answer."""

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Be away."""
        raise LogUnavailable(f"{topic}:{partition}: nothing before {offset} is deleted now")


async def test_a_log_that_does_not_answer_is_waited_for_and_then_the_tick_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    bench = Workbench(tmp_path / "own", SilentLog())
    await bench.says("t-1")
    await bench.shards.at(0).catch_up()
    assert (await Kept(bench, removal_seconds=0.2).tick(later(days=100))).expired == 0
    assert "old observations of partition 0 stay" in caplog.text
    bench.close()


@pytest.mark.parametrize("since", range(7))
async def test_the_first_record_since_an_instant_is_found_by_halves(bench: Workbench, since: int):
    for minute in (0, 1, 1, 3, 4):
        bench.log.now = later(minutes=minute)
        await bench.says(f"t-{minute}")
    await bench.log.drop_before(CONVERSATIONS.name, 0, 1)
    expected = [1, 1, 3, 3, 4, 5, 5][since]
    assert await first_since(bench.log, CONVERSATIONS.name, 0, later(minutes=since), 5) == expected
    assert await first_since(bench.log, CONVERSATIONS.name, 0, later(minutes=since), 2) == min(expected, 2)


@pytest.mark.parametrize(("before", "expected"), [(0, 0), (1, 1), (2, 2), (3, 5), (4, 6), (5, 7), (6, 7)])
async def test_what_a_wrong_clock_has_dated_goes_with_what_is_older_behind_it(
    bench: Workbench, before: int, expected: int
):
    for number, minute in enumerate((0, 1, None, None, 2, 3, 4)):
        bench.log.set_time_back(later(days=400) if minute is None else later(minutes=minute))
        await bench.says(f"t-{number}")
    assert await first_since(bench.log, CONVERSATIONS.name, 0, later(minutes=before), 7) == expected


async def test_a_worker_drops_the_turns_of_its_shards_with_those_of_its_log(tmp_path: Path):
    async with front_door(tmp_path, partitions=1, retention_days=1) as door:
        await door.http.post("/v1/events?wait=60", json=turn("t-1", "I live in Berlin."))
        await door.post("/v1/admin/drain", {})
        [memory] = (await door.get("/v1/memories", user_id="u1")).json()["items"]
        door.clock.ahead = timedelta(days=2)
        as_of = door.clock.now().isoformat()
        done = (await door.post("/v1/admin/ticks", {"as_of": as_of, "policy": "retention"})).json()
        assert (done["policy"], done["decayed"], done["applied"]) == ("retention", 0, True)
        assert done["changed"] == done["expired"]  # those that the owner's clock did not remove a moment before
        assert (await door.get("/v1/events/t-1", user_id="u1")).status_code == 404
        assert (await door.get("/v1/sessions/s1/turns", user_id="u1")).json()["items"] == []
        history = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()
        assert [e["type"] for e in history["events"]] == ["MemoryFormed"]
