"""remember: one item in, one record out; redelivery, frozen workers, foreign and broken items, ticks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import MONDAY, XIAOMING, forget, happened, later, recalled, remember, said, tick
from support.workbench import Workbench

from projections.partitions.index_source import ShardIndexSource
from schemas import codec
from schemas.identity import Owner, partition_owner
from schemas.log import NewRecord
from schemas.messages.events import MemorySuperseded, TickApplied
from schemas.topics import GLOBALS, INBOX, LEDGER
from streams.decisions.draft import Draft, ItemPosition

if TYPE_CHECKING:
    from pathlib import Path

    from projections.state.memory import UserState
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import UserItem

COFFEE = "用户喜欢喝咖啡"


def owned(item: Any, user_id: str, tenant: str = "default") -> Any:
    return replace(item, envelope=replace(item.envelope, user_id=user_id, tenant=tenant))


async def void(bench: Workbench, decision: Decision, owner: Owner = XIAOMING) -> None:
    await bench.log.append([NewRecord(topic=LEDGER.name, partition=0, key=owner.key, value=codec.encode(decision))])


async def test_one_item_in_is_one_decision_out(bench: Workbench):
    record = await bench.decides(said(COFFEE, "t-1"))
    [decision] = await bench.ledger()
    assert (decision.item_offset, decision.item_partition, decision.item_type) == (0, 0, "CandidatesExtracted")
    assert (decision.version, decision.envelope.recorded_at) == (1, record.recorded_at)
    assert [m.content for m in bench.state().memories.values()] == [COFFEE]
    assert bench.acked == [str(record.position)]


async def test_an_item_delivered_again_or_appended_again_is_decided_once(bench: Workbench):
    item = remember(COFFEE, "c-1")
    record = await bench.decides(item)
    await bench.remembers(record, record)
    await bench.decides(item)
    assert len(await bench.ledger()) == 1
    assert len(bench.acked) == 4


async def test_the_next_worker_decides_nothing_again(bench: Workbench, tmp_path: Path):
    records = [await bench.decides(said(COFFEE, "t-1")), await bench.decides(remember("用户喜欢跑步", "c-1"))]
    after = Workbench(tmp_path / "two", bench.log)
    await after.remembers(*records)
    assert len(await bench.ledger()) == 2
    assert after.state() == bench.state()
    after.close()


async def test_what_a_frozen_worker_appends_changes_nothing_and_its_item_is_decided_after_it(
    bench: Workbench, tmp_path: Path
):
    frozen = Workbench(tmp_path / "frozen", bench.log)
    first = await bench.decides(said(COFFEE, "t-1"))
    second = await bench.decides(forget(next(iter(bench.state().memories)), "f-1", later(hours=1)))
    await frozen.remembers(first, second)
    [one, two] = await bench.ledger()
    await void(bench, one)
    await void(bench, replace(two, item_id="other"))
    await bench.decides(remember("用户喜欢跑步", "c-1"))
    rebuilt = Workbench(tmp_path / "rebuilt", bench.log)
    for shard in rebuilt.shards.all():
        await shard.catch_up()
    assert rebuilt.state() == bench.state()
    assert bench.state().version == 3
    for worker in (frozen, rebuilt):
        worker.close()


async def test_a_decision_that_turned_out_void_is_made_again(bench: Workbench, tmp_path: Path):
    """Another worker decided the item before ours meanwhile: ours is decided again, on what is known by then."""
    await bench.decides(remember("用户喜欢跑步", "c-0"))
    theirs = await bench.publish(INBOX.name, codec.encode(said(COFFEE, "t-1")))
    mine = await bench.publish(INBOX.name, codec.encode(remember(COFFEE, "c-1", later(hours=1))))
    other = Workbench(tmp_path / "other", bench.log)
    await other.remembers(theirs)
    await bench.remembers(mine)
    decisions = await bench.ledger()
    assert [(d.version, d.outcomes[0].action) for d in decisions] == [
        (1, "formed"),
        (2, "formed"),
        (2, "formed"),
        (3, "reinforced"),
    ]
    await other.remembers(mine)  # it had not folded ours yet: its own is void, and it does not try again
    assert len(await bench.ledger()) == 5
    assert other.state() == bench.state()
    other.close()


async def test_users_are_decided_side_by_side_and_one_user_in_order(bench: Workbench):
    items = [owned(remember(f"事实{n}", f"c-{n}", later(minutes=n)), f"u{n % 3}") for n in range(12)]
    records = [await bench.publish(INBOX.name, codec.encode(i), i.envelope.owner.key) for i in items]
    await bench.remembers(*records)
    for number in range(3):
        mine = [d for d in await bench.ledger() if d.envelope.user_id == f"u{number}"]
        assert [d.item_id for d in mine] == [f"c-{n}" for n in range(number, 12, 3)]
        assert [d.version for d in mine] == [1, 2, 3, 4]


async def test_a_waiter_is_told_when_its_item_is_decided(bench: Workbench):
    waiter = asyncio.create_task(bench.remember.decided(XIAOMING, "c-1"))
    await asyncio.sleep(0)
    assert not waiter.done()
    await bench.decides(remember(COFFEE, "c-1"))
    async with asyncio.timeout(120):
        await waiter
        await bench.remember.decided(XIAOMING, "c-1")


@pytest.mark.parametrize(
    ("item", "key"),
    [
        (remember(COFFEE, "c-1"), b"default/someone"),
        (remember(COFFEE, "c-1"), None),
        (remember(COFFEE, "c-1"), b"no-slash"),
        (owned(remember(COFFEE, "c-1"), "0", "*"), b"*/0"),
        (owned(tick(MONDAY), "xiaoming", "default"), XIAOMING.key),
        (owned(tick(MONDAY), "7", "*"), b"*/7"),
        (owned(tick(MONDAY), "abc", "*"), b"*/abc"),
    ],
)
async def test_an_item_whose_owner_cannot_have_it_is_put_aside(bench: Workbench, item: Any, key: bytes | None):
    record = await bench.publish(INBOX.name, codec.encode(item), key)
    await bench.remembers(record)
    [letter] = await bench.dead()
    assert (letter.value, letter.key, letter.reason) == (record.value, key, "decode")
    assert (await bench.ledger(), len(bench.acked)) == ([], 1)


async def test_what_is_no_item_is_put_aside_and_what_only_a_newer_version_knows_stops(bench: Workbench):
    await bench.remembers(await bench.publish(INBOX.name, b"garbage"))
    await bench.remembers(await bench.publish(INBOX.name, codec.encode((await bench.dead())[0])))
    assert len(await bench.dead()) == 2
    with pytest.raises(codec.UnknownSchema):
        await bench.remembers(await bench.publish(INBOX.name, b"\xc3\x01" + b"\x07" * 12))
    assert len(await bench.dead()) == 2


async def test_an_item_that_no_rule_can_decide_is_put_aside_and_stops_nobody(bench: Workbench):
    poison = said(COFFEE, "t-1", occurred_on="not a date")
    await bench.decides(poison)
    [letter] = await bench.dead()
    assert (letter.reason, "ValueError" in letter.detail) == ("failed", True)
    await bench.decides(remember(COFFEE, "c-1"))
    assert len(bench.state().memories) == 1


async def test_a_decision_that_does_not_fit_is_put_aside_and_not_made_again_and_again(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    def unfit(state: UserState, item: UserItem, place: ItemPosition, *_: object) -> Decision:
        draft = Draft(state=state, item=item, position=place)
        draft.add(MemorySuperseded(envelope=draft.envelope(), memory_id="unknown", superseded_by="another"))
        return draft.decision()

    monkeypatch.setattr("streams.agents.remember.decide", unfit)
    async with asyncio.timeout(120):
        await bench.decides(remember(COFFEE, "c-1"))
    [letter] = await bench.dead()
    assert (letter.reason, "does not fit" in letter.detail, await bench.ledger()) == ("failed", True, [])


async def test_a_tick_is_met_by_every_user_and_then_closed(bench: Workbench):
    for user in ("u1", "u2", "u3"):
        await bench.decides(owned(remember(COFFEE, f"c-{user}"), user))
    await bench.decides(owned(remember(COFFEE, "c-late", later(days=7)), "u3"))
    record = await bench.decides(tick(later(days=8)))
    await bench.remembers(record)
    decisions = (await bench.ledger())[4:]
    assert [d.envelope.owner for d in decisions] == [Owner("default", "u1"), Owner("default", "u2"), partition_owner(0)]
    [closing] = [codec.decode(e) for e in decisions[-1].events]
    assert isinstance(closing, TickApplied)
    assert (closing.decayed, closing.expired, closing.policy, closing.as_of) == (2, 0, "ladder", later(days=8))


async def test_a_tick_interrupted_between_two_users_goes_on_where_it_stopped(bench: Workbench, tmp_path: Path):
    for user in ("u1", "u2"):
        await bench.decides(owned(remember(COFFEE, f"c-{user}"), user))
    record = await bench.decides(tick(later(days=8)))
    whole = await bench.ledger()
    cut = Workbench(tmp_path / "cut")
    for item in await bench.inbox():
        await cut.publish(INBOX.name, codec.encode(item), item.envelope.owner.key)
    for decision in whole[:3]:
        await void(cut, decision, decision.envelope.owner)
    await cut.remembers(record)
    assert await cut.ledger() == whole
    cut.close()


async def test_a_decision_of_a_tick_after_its_closing_is_void(bench: Workbench, tmp_path: Path):
    await bench.decides(remember(COFFEE, "c-1"))
    await bench.decides(tick(later(days=8)))
    decided = [d for d in await bench.ledger() if d.item_type == "DecayDue" and d.envelope.owner == XIAOMING]
    stranger = Owner("default", "stranger")
    envelope = replace(decided[0].envelope, user_id="stranger")
    late = replace(decided[0], envelope=envelope, version=1, events=[], item_offset=99, previous=b"")
    await void(bench, late, stranger)
    rebuilt = Workbench(tmp_path / "rebuilt", bench.log)
    for shard in rebuilt.shards.all():
        await shard.catch_up()
    assert rebuilt.state(stranger).version == 0
    assert rebuilt.state() == bench.state()
    rebuilt.close()


async def test_a_tick_of_an_unknown_policy_is_recorded_as_nothing_with_the_reason(bench: Workbench):
    await bench.decides(remember(COFFEE, "c-1"))
    await bench.decides(tick(later(days=8), "no-such-policy"))
    *_, closing = await bench.ledger()
    assert closing.envelope.owner == partition_owner(0)
    assert [(o.action, o.reason) for o in closing.outcomes] == [
        ("nothing", "the policy 'no-such-policy' is not known: nothing was changed")
    ]
    [memory] = bench.state().memories.values()
    assert memory.version == 1


async def test_a_tick_may_lie_before_one_that_was_applied(bench: Workbench):
    await bench.decides(remember(COFFEE, "c-1"))
    await bench.decides(tick(later(days=20)))
    await bench.decides(tick(later(days=10)))
    [memory] = bench.state().memories.values()
    assert memory.importance == 0.405


async def test_a_tick_waits_for_the_items_before_it(bench: Workbench):
    items = [owned(remember(f"事实{n}", f"c-{n}"), f"u{n}") for n in range(20)]
    records = [await bench.publish(INBOX.name, codec.encode(i), i.envelope.owner.key) for i in items]
    due = tick(later(days=8))
    records.append(await bench.publish(INBOX.name, codec.encode(due), due.envelope.owner.key))
    await bench.remembers(*records)
    assert [d.item_type for d in await bench.ledger()] == ["RememberFact"] * 20 + ["DecayDue"] * 21


async def test_global_memories_are_decided_into_the_one_partition_of_globals_and_fade_too(bench: Workbench):
    shared = Owner("default", "*")
    await bench.decides(replace(owned(remember(COFFEE, "c-1", agent_id=None), "*"), scope="global"))
    await bench.decides(tick(later(days=8)))
    assert [d.envelope.owner for d in await bench.ledger()] == [partition_owner(0)]
    assert len(await bench.log.read(GLOBALS.name, 0, 0)) == 2
    [memory] = bench.state(shared).memories.values()
    assert (memory.scope, memory.importance) == ("global", 0.45)


async def test_a_recall_of_a_global_memory_by_a_user_reinforces_nothing(bench: Workbench):
    await bench.decides(replace(owned(remember(COFFEE, "c-1", agent_id=None), "*"), scope="global"))
    [memory_id] = bench.state(Owner("default", "*")).memories
    await bench.decides(recalled(memory_id, command="r-1", at=later(hours=1)))
    assert bench.state(Owner("default", "*")).memories[memory_id].access_count == 0


async def test_a_large_item_is_decided_in_parts_that_all_count(bench: Workbench):
    await bench.decides(happened("送花", "t-1"))
    for number in range(3):
        await bench.decides(remember(f"locker{number}", f"c-{number}"))
    shown = [*bench.state().memories, *(f"no-such-{n}" for n in range(1500))]
    record = await bench.decides(recalled(*shown, command="r-1", at=later(hours=1)))
    await bench.remembers(record)
    parts = [(d.part, d.last_part) for d in await bench.ledger() if d.item_id == "r-1"]
    assert parts == [(1, False), (2, True)]
    assert [m.recall_count for m in bench.state().memories.values()] == [1] * 4


async def test_the_index_follows_the_decisions(bench: Workbench):
    await bench.decides(remember(COFFEE, "c-1"))
    [entry] = ShardIndexSource(bench.shards).entries(XIAOMING)
    assert (entry.memory_id, entry.version) == (next(iter(bench.state().memories)), 1)
    await bench.decides(forget(entry.memory_id, "f-1"))
    assert list(ShardIndexSource(bench.shards).entries(XIAOMING)) == []


async def test_a_tick_whose_partition_is_taken_away_while_it_waits_is_left_to_the_next_worker(bench: Workbench):
    """The items before it were dropped with the partition: deciding the tick would pass them by for ever."""
    owner, release = partition_owner(0), asyncio.Event()
    due = tick(later(days=30))
    record = await bench.publish(INBOX.name, codec.encode(due), owner.key)

    await bench.remembers()  # fold first: the tick is to wait for the item, and for nothing else

    async def waits() -> None:
        await release.wait()

    await bench.deciding_pool.submit(0, "a user whose item is in work", waits)
    handling = asyncio.create_task(bench.remembers(record))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not handling.done()
    bench.revoke()
    await handling
    assert await bench.ledger() == []
    assert bench.acked == []
