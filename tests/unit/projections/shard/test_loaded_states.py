"""A state that is read while others have their turn, and a fold that gives them theirs, come to what one go does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, forget, later, remember
from support.workbench import Workbench

from projections import turns
from projections.shard import ledger, user_states
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXTS = ("用户喜欢喝咖啡", "用户住在上海", "用户有一只猫", "用户每周日跑步", "用户是医生")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """Return a workbench in which others have their turn after each step, which takes two memories, or one event."""
    monkeypatch.setattr(turns, "TURN_SECONDS", -1.0)
    monkeypatch.setattr(turns, "ITEMS_A_STEP", 2)
    monkeypatch.setattr(user_states, "ITEMS_A_STEP", 2)
    monkeypatch.setattr(ledger, "EVENTS_A_STEP", 1)
    bench = Workbench(tmp_path / "one")
    yield bench
    bench.close()


async def told(bench: Workbench) -> None:
    for number, text in enumerate(TEXTS):
        await bench.decides(remember(text, f"c-{number}"))


async def test_a_state_that_was_loaded_is_the_one_that_was_folded(bench: Workbench):
    await told(bench)
    folded, states = bench.state(), bench.shards.at(0).ledger.states
    states.forget()
    await bench.shards.load(XIAOMING)
    assert (bench.state(), list(bench.state().by_attribute)) == (folded, list(folded.by_attribute))
    assert bench.state() is bench.state()


async def test_what_is_folded_while_a_state_is_loaded_is_in_it(bench: Workbench):
    await told(bench)
    first, states = next(iter(bench.state().memories)), bench.shards.at(0).ledger.states
    states.forget()
    loading = asyncio.ensure_future(bench.shards.load(XIAOMING))
    await asyncio.sleep(0)
    await bench.decides(forget(first, "f-1", later(hours=1)))
    folded = bench.state()
    states.forget()  # only what is loaded is cached now
    await loading
    assert (bench.state(), bench.state().memories[first].status) == (folded, "forgotten")


async def test_a_shard_that_is_closed_while_a_state_is_loaded_is_left_to_who_reads_it(bench: Workbench):
    await told(bench)
    bench.shards.at(0).ledger.states.forget()
    loading = asyncio.ensure_future(bench.shards.load(XIAOMING))
    await asyncio.sleep(0)
    bench.shards.at(0).close()
    await loading
    assert loading.exception() is None


async def test_a_shard_that_is_retired_between_two_steps_folds_nothing(bench: Workbench, tmp_path: Path):
    await told(bench)
    other = Workbench(tmp_path / "two", bench.log)
    shard = other.shards.at(0)
    folding = asyncio.ensure_future(shard.up_to(LEDGER.name, len(TEXTS)))
    await asyncio.sleep(0)
    assert shard.folding.locked()
    await asyncio.sleep(0)
    shard.retired = True
    await folding
    assert (shard.offset(LEDGER.name), other.state().version) == (0, 0)
    other.close()


async def test_a_fold_in_steps_is_that_of_one_go(bench: Workbench, tmp_path: Path):
    await told(bench)
    other = Workbench(tmp_path / "two", bench.log)
    await other.shards.at(0).up_to(LEDGER.name, len(TEXTS))
    shard = other.shards.at(0)
    assert other.state() == bench.state()
    shard.ledger.states.forget()
    assert other.state() == bench.state()
    other.close()


async def test_decisions_that_are_read_in_steps_are_those_of_one_go(bench: Workbench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "_ROWS_AT_ONCE", 2)
    await told(bench)
    fold = bench.shards.at(0).ledger
    [first] = [m.memory_id for m in bench.state().memories.values() if m.content == TEXTS[0]]
    reading = ledger.decisions_in_steps(lambda: fold, XIAOMING)
    next(reading)
    await bench.decides(forget(first, "f-1", later(hours=1)))
    everything = list(fold.decisions(XIAOMING))
    assert (turns.to_end(reading), len(everything)) == (everything, len(TEXTS) + 1)
    naming = turns.to_end(ledger.decisions_in_steps(lambda: fold, XIAOMING, first))
    assert [decision.item_id for _, decision in naming] == [everything[0][1].item_id, "f-1"]
