"""Who waits for a turn learns of its decision at once, and of what leads to none when it is looked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import XIAOMING, remember
from support.workbench import Workbench

from mnemolog.publishing.states import LONGEST_POLL_SECONDS, EventStates
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from schemas.identity import Owner

ONE_HOUR = 3_600.0


async def turns() -> None:
    """Let the event loop turn until everybody who was told has looked, which takes no time that a pause would need."""
    for _ in range(20):
        await asyncio.sleep(0)


async def extracted(bench: Workbench) -> None:
    await bench.observes(await bench.says("t-1", infer=False))


async def test_a_decision_ends_the_wait(bench: Workbench):
    first = await bench.asks(remember("用户喜欢跑步", "c-0"))
    await extracted(bench)
    told = EventStates(bench.log, bench.shards, bench.extractions.pending, settled=bench.remember.settled)
    waiting = asyncio.create_task(told.wait([(XIAOMING, "t-1")], ONE_HOUR))
    await asyncio.sleep(3 * LONGEST_POLL_SECONDS)  # it does not look again for some time
    await bench.remembers(first)
    await turns()
    assert not waiting.done()
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 1, 1))
    await turns()
    assert waiting.done()
    assert await waiting


async def test_without_being_told_it_is_looked_for(bench: Workbench):
    await extracted(bench)
    untold = EventStates(bench.log, bench.shards, bench.extractions.pending)
    waiting = asyncio.create_task(untold.wait([(XIAOMING, "t-1")], ONE_HOUR))
    await asyncio.sleep(0)
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
    async with asyncio.timeout(120):
        assert await waiting


async def test_the_wait_ends_with_its_time(bench: Workbench):
    await extracted(bench)
    told = EventStates(bench.log, bench.shards, bench.extractions.pending, settled=bench.remember.settled)
    assert not await told.wait([(XIAOMING, "t-1")], 0.01)
    with bench.remember.settled({XIAOMING}) as settled:
        await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
        assert settled.is_set()


class Counting(EventStates):
    """Notes which events were looked at."""

    def __init__(self, bench: Workbench, *, memorizes: bool = True) -> None:
        """Begin without a look."""
        pending, settled = bench.extractions.pending, bench.remember.settled
        super().__init__(bench.log, bench.shards, pending, memorizes=memorizes, settled=settled)
        self.looks: list[str] = []

    async def of(self, owner: Owner, event_ids: Sequence[str], *rest: Any, **options: Any) -> dict[str, Any]:
        """Note the events, and return their states."""
        self.looks.extend(event_ids)
        return await super().of(owner, event_ids, *rest, **options)


async def test_what_is_being_extracted_is_looked_at_only_at_the_end_of_the_time(bench: Workbench):
    said = await bench.says("t-1")
    states = Counting(bench)
    await bench.observes(said)
    assert bench.extractions.pending.has(XIAOMING, "t-1")
    assert not await states.wait([(XIAOMING, "t-1")], 3 * LONGEST_POLL_SECONDS)
    assert states.looks == ["t-1"]


async def test_a_turn_that_was_just_published_is_not_looked_at_at_once(bench: Workbench):
    said = await bench.says("t-1", infer=False)
    states = Counting(bench)
    waiting = asyncio.create_task(states.finished([(XIAOMING, "t-1")], ONE_HOUR, is_just_begun=True))
    await asyncio.sleep(0)  # until it waits for the first time
    assert states.looks == []
    await bench.observes(said)
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
    assert await waiting


async def test_what_was_published_with_a_turn_that_is_being_extracted_is_looked_at_with_it(bench: Workbench):
    said, end = await bench.says("t-1"), await bench.ends("e-1")
    states = Counting(bench)
    names = [(XIAOMING, "t-1"), (XIAOMING, "e-1")]
    await bench.observes(said)
    waiting = asyncio.create_task(states.finished(names, ONE_HOUR))
    await asyncio.sleep(3 * LONGEST_POLL_SECONDS)  # as long as it takes, nobody looks
    assert states.looks == []
    await bench.observes(end)
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
    found = await waiting
    assert [found[name]["state"] for name in names] == ["remembered", "nothing"]


@pytest.mark.parametrize("memorize", [True, False])
async def test_what_was_published_before_or_leads_to_nothing_is_looked_at_at_once(tmp_path: Path, *, memorize: bool):
    bench = Workbench(tmp_path / "two", memorizes=memorize)
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
    states = Counting(bench, memorizes=memorize)
    async with asyncio.timeout(120):
        found = await states.finished([(XIAOMING, "t-1")], ONE_HOUR, is_just_begun=not memorize)
    assert states.looks == ["t-1"]
    assert found[XIAOMING, "t-1"]["state"] == ("remembered" if memorize else "nothing")
    bench.close()


async def test_a_state_in_which_the_wait_ends_is_the_one_that_is_told(bench: Workbench):
    await extracted(bench)
    states = EventStates(bench.log, bench.shards, bench.extractions.pending, settled=bench.remember.settled)
    assert await states.finished([(XIAOMING, "t-1"), (XIAOMING, "never said")], 0.01) == {}
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0, 1))
    found = await states.finished([(XIAOMING, "t-1"), (XIAOMING, "never said")], 0.01)
    assert found == {(XIAOMING, "t-1"): (await states.of(XIAOMING, ["t-1"]))["t-1"]}
    assert found[XIAOMING, "t-1"]["state"] == "remembered"
