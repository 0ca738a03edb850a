"""A shard trusts only its own offsets: fold and offset are one, and what became of each observation can be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, candidate, episode, extracted, forget, later, piece, remember, tick
from support.garbage import garbage
from support.workbench import Workbench

from projections.shard.shard import Shard
from projections.state.evolve import link_of
from schemas import codec
from schemas.codec import UnknownSchema
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, INBOX, LEDGER
from streams.extraction.protocol import Rejected

if TYPE_CHECKING:
    from pathlib import Path

    from projections.shard.observation_lookup import Progress


def progress(bench: Workbench, event_id: str) -> Progress:
    turns = bench.shards.at(0).observations
    return turns.progress(XIAOMING, turns.seen(XIAOMING, [event_id])[event_id])


async def test_a_shard_that_is_opened_again_goes_on_at_its_own_offset(bench: Workbench, tmp_path: Path):
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    before = bench.state()
    bench.shards.close()
    again = Workbench(tmp_path / "one", bench.log)
    shard = again.shards.at(0)
    assert (shard.offset(LEDGER.name), again.state()) == (1, before)
    await again.decides(forget(next(iter(before.memories)), "f-1", later(hours=1)))
    assert shard.offset(LEDGER.name) == 2
    again.close()


async def test_a_shard_that_is_closed_goes_by_itself_with_all_that_it_holds(bench: Workbench):
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    with garbage() as found:
        bench.shards.takeover.assign(())
    assert [one for one in found if isinstance(one, Shard)] == []


async def test_a_gap_before_what_is_asked_for_is_filled_from_the_log(bench: Workbench, tmp_path: Path):
    for number in range(5):
        await bench.decides(remember(f"事实{number}", f"c-{number}"))
    other = Workbench(tmp_path / "two", bench.log)
    await other.shards.at(0).up_to(LEDGER.name, 5)
    assert other.state() == bench.state()
    await other.shards.at(0).up_to(LEDGER.name, 99)
    assert other.shards.at(0).offset(LEDGER.name) == 5
    other.close()


async def test_a_batch_that_cannot_be_folded_changes_nothing(bench: Workbench, tmp_path: Path):
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    [decision] = await bench.ledger()
    link = link_of(decision, codec.encode(decision))
    newer = replace(
        decision, item_id="c-2", item_offset=1, version=2, events=[b"\xc3\x01" + b"\x07" * 12], previous=link
    )
    await bench.log.append([NewRecord(topic=LEDGER.name, partition=0, key=XIAOMING.key, value=codec.encode(newer))])
    other = Workbench(tmp_path / "two", bench.log)
    with pytest.raises(UnknownSchema, match="upgrade"):
        await other.shards.at(0).catch_up()
    assert (other.shards.at(0).offset(LEDGER.name), other.state().version) == (0, 0)
    other.close()


async def test_after_a_fold_that_fails_when_it_is_written_the_states_are_those_of_the_file(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Decisions on the states of before would not count."""
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    await bench.decides(remember("用户喜欢跑步", "c-2"))
    first, second = await bench.log.read(LEDGER.name, 0, 0)
    other = Workbench(tmp_path / "two", bench.log)
    shard = other.shards.at(0)
    shard.fold(LEDGER.name, [first])
    assert other.state().version == 1

    def keep(*_: object) -> None:
        raise RuntimeError("odd")

    with monkeypatch.context() as patched:
        patched.setattr(shard.ledger.states, "keep", keep)
        with pytest.raises(RuntimeError, match="odd"):
            shard.fold(LEDGER.name, [second])
    assert (other.state(), shard.offset(LEDGER.name)) == (bench.state(), 2)
    other.close()


async def test_an_observation_is_followed_to_what_became_of_it(bench: Workbench):
    turns = [await bench.says("t-1"), await bench.says("t-2", "好的", role="assistant")]
    await bench.observes(*turns)
    assert progress(bench, "t-1").state == "accepted"
    await bench.observes(await bench.ends("e-1"))
    assert progress(bench, "t-1").state == "extracted"
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    after = progress(bench, "t-1")
    assert (after.state, after.memory_ids) == (
        "remembered",
        tuple(m for m in after.memory_ids if m in bench.state().memories),
    )
    assert len(after.memory_ids) == 1
    assert after.decisions == tuple(d.envelope.event_id for d in await bench.ledger())
    assert progress(bench, "e-1").state == "nothing"


async def test_an_observation_that_the_model_could_not_answer_is_rejected_and_one_that_nothing_cites_is_nothing(
    bench: Workbench,
):
    bench.extractor.errors.append(Rejected("not JSON"))
    await bench.observes(await bench.says("t-1"), await bench.ends("e-1"), await bench.says("t-2", role="system"))
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    assert (progress(bench, "t-1").state, progress(bench, "t-2").state) == ("rejected", "nothing")
    assert "not JSON" in (progress(bench, "t-1").reason or "")


async def test_the_reason_of_an_observation_is_that_of_what_cites_it_else_that_of_its_window(bench: Workbench):
    """t-1 is known already, t-2 an episode of no weight, and nothing cites t-3."""
    await bench.observes(*[await bench.says(f"t-{n}", f"第{n}句") for n in (1, 2, 3)])
    await bench.decides(
        extracted(candidate("用户喜欢喝咖啡", "t-1"), covers=[piece("t-1")]),
    )
    await bench.decides(
        extracted(
            candidate("用户喜欢喝咖啡", "t-4"),
            episode("闲聊", "t-2", importance=0.1),
            covers=[piece("t-2"), piece("t-3"), piece("t-4", by_user=False)],
        )
    )
    await bench.shards.at(0).catch_up()
    known, weak = "known, and only the assistant said it again", "an episode of a grade under 2"
    assert (progress(bench, "t-2").state, progress(bench, "t-2").reason) == ("nothing", weak)
    assert (progress(bench, "t-3").state, progress(bench, "t-3").reason) == ("nothing", f"{known}; {weak}")


async def test_an_observation_of_several_pieces_ends_with_the_last_of_them(bench: Workbench):
    await bench.observes(await bench.says("t-1", "喜欢" * 4000), await bench.ends("e-1"))
    first, *rest = await bench.log.read(INBOX.name, 0, 0)
    await bench.remembers(first)
    turns = bench.shards.at(0).observations
    assert progress(bench, "t-1").state == "extracted"
    assert turns.counts() == {"observations": 1, "remembered": 0, "nothing": 0, "rejected": 0, "dead": 0}
    await bench.remembers(*rest)
    assert (progress(bench, "t-1").state, turns.counts()["remembered"]) == ("remembered", 1)


async def test_the_recent_turns_of_a_session_come_oldest_first_and_once(bench: Workbench):
    records = [await bench.says(f"t-{n}", f"第{n}句") for n in range(4)]
    await bench.says("t-9", session_id="s2")
    shard = bench.shards.at(0)
    await shard.catch_up()
    shard.fold(CONVERSATIONS.name, records)
    shard.fold(CONVERSATIONS.name, records)
    assert [t.message.content for t in shard.turns.of_session(XIAOMING, "s1", 3)] == ["第1句", "第2句", "第3句"]
    assert len(shard.turns.of_session(XIAOMING, "s1", 99)) == 4


async def test_the_reserved_owner_of_ticks_is_no_user(bench: Workbench):
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    await bench.decides(tick(later(days=8)))
    assert bench.shards.users.owners() == [XIAOMING]


async def test_the_first_record_of_an_observation_is_the_same_whether_it_was_just_folded_or_not(bench: Workbench):
    for event_id in ("t-1", "t-1", "t-2"):
        await bench.says(event_id)
        await bench.shards.at(0).catch_up()
    turns = bench.shards.at(0).observations
    first = {i: seen.position.offset for i in ("t-1", "t-2", "t-3") if (seen := turns.first(XIAOMING, i))}
    assert first == {"t-1": 0, "t-2": 2}
    expected = turns.seen(XIAOMING, ["t-1", "t-2"])
    assert {i: turns.first(XIAOMING, i) for i in expected} == expected
    turns.forget_recent()
    assert {i: turns.first(XIAOMING, i) for i in expected} == expected
