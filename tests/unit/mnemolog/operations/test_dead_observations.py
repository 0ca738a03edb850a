"""What became of an observation whose extraction became a dead letter: a fold of the log, as everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.examples import XIAOMING, later, remember
from support.workbench import Workbench

from mnemolog.operations.dead_letters import DeadLetters
from mnemolog.publishing.states import EventStates
from schemas.topics import DEAD_LETTERS, INBOX

if TYPE_CHECKING:
    from pathlib import Path


async def given_up(bench: Workbench) -> None:
    """Let t-1 be extracted, and its answer be passed by a later item: that is one way to become a dead letter."""
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"))
    [answer] = await bench.log.read(INBOX.name, 0, 0)
    await bench.decides(remember("用户喜欢跑步", "c-1", later(hours=1)))
    await bench.remembers(answer)


async def state(bench: Workbench, event_id: str = "t-1") -> tuple[str, str]:
    found = (await EventStates(bench.log, bench.shards, bench.extractions.pending).of(XIAOMING, [event_id]))[event_id]
    return found["state"], found["reason"]


async def rebuilt(bench: Workbench, folder: Path) -> Workbench:
    again = Workbench(folder, bench.log)
    for shard in again.shards.all():
        await shard.catch_up()
    return again


async def test_an_observation_whose_answer_became_a_dead_letter_is_dead_live_and_rebuilt(
    bench: Workbench, tmp_path: Path
):
    await given_up(bench)
    again = await rebuilt(bench, tmp_path / "again")
    for worker in (bench, again):
        name, reason = await state(worker)
        assert (name, "came after" in reason) == ("dead", True)
        counts = worker.shards.at(0).observations.counts()
        assert counts == {"observations": 1, "remembered": 0, "nothing": 0, "rejected": 0, "dead": 1}
        assert worker.shards.at(0).dead_letters.count() == 0, "its letter is counted as the observation that it is"
    again.close()


async def test_a_dead_letter_that_was_sent_back_is_decided_and_dead_no_more(bench: Workbench, tmp_path: Path):
    await given_up(bench)
    assert (await state(bench))[0] == "dead"
    assert len(await DeadLetters(bench.log).retry()) == 1
    assert (await state(bench))[0] == "extracted"
    *_, sent_back = await bench.log.read(INBOX.name, 0, 0)
    await bench.remembers(sent_back)
    again = await rebuilt(bench, tmp_path / "again")
    for worker in (bench, again):
        assert (await state(worker))[0] == "remembered"
        counts = worker.shards.at(0).observations.counts()
        assert (counts["remembered"], counts["dead"]) == (1, 0)
    again.close()


async def test_what_was_put_aside_and_is_no_extraction_is_counted_until_it_is_sent_back(bench: Workbench):
    shard = bench.shards.at(0)
    await bench.remembers(await bench.publish(INBOX.name, b"garbage"))
    await bench.publish(DEAD_LETTERS.name, b"no letter")
    for _ in range(2):  # twice is once
        await shard.catch_up()
        shard.fold(DEAD_LETTERS.name, await bench.log.read(DEAD_LETTERS.name, 0, 0))
        assert shard.dead_letters.count() == 2
    await DeadLetters(bench.log).retry()
    await shard.catch_up()
    assert shard.dead_letters.count() == 1
