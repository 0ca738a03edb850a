"""How close a user and an agent are outlives the turn that said so: a tick of retention keeps it in the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door, turn
from immutables import Map
from support.examples import XIAOMING, later
from support.workbench import Workbench

from projections.state.digest import digests
from projections.state.intimacy import Intimacy, last_kept
from schemas.identity import Owner
from schemas.topics import CONVERSATIONS
from streams.agents.remember import Remember
from streams.agents.retention import RetentionTask
from streams.decisions.parameters import Parameters
from streams.ticks.scheduler import retention_due

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from contract.front_door import FrontDoor


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one")
    removing = RetentionTask(bench.log, bench.shards, lambda _topic, _partition: 1_000)
    bench.remember = Remember(
        log=bench.log,
        shards=bench.shards,
        index_sync=bench.index_sync,
        pool=bench.deciding_pool,
        parameters=Parameters(),
        remove=removing.remove,
    )
    yield bench
    bench.close()


async def close(bench: Workbench, event_id: str, intimacy: float, at: datetime, agent_id: str | None = "luna") -> None:
    bench.log.now = at
    more: dict[str, Any] = {"context": {"intimacy": intimacy}, "occurred_at": at.isoformat(), "agent_id": agent_id}
    await bench.says(event_id, **more)
    await bench.shards.at(0).catch_up()


async def tick(bench: Workbench, as_of: datetime, days: float = 30) -> int:
    """Decide a tick of retention, twice delivered; return how many decisions it made, its closing one included."""
    before = len(await bench.ledger())
    bench.log.now = as_of
    await bench.remembers(await bench.decides(retention_due(0, as_of, days)))
    return len(await bench.ledger()) - before


async def test_a_tick_keeps_the_last_intimacy_with_each_agent_once_half_its_time_is_over(bench: Workbench):
    await close(bench, "t-1", 90, later())
    await close(bench, "t-2", 10, later(hours=1))
    await close(bench, "t-3", 60, later(hours=2), agent_id="aria")
    await close(bench, "t-4", 40, later(hours=3), agent_id=None)
    assert await tick(bench, later(days=14)) == 1
    assert await tick(bench, later(days=16)) == 2
    kept = {
        None: Intimacy(later(hours=3), 40),
        "aria": Intimacy(later(hours=2), 60),
        "luna": Intimacy(later(hours=1), 10),
    }
    assert dict(bench.state().intimacies) == kept
    assert await tick(bench, later(days=17)) == 1, "what is kept is not kept again"
    assert await tick(bench, later(days=40)) == 1
    assert bench.shards.at(0).turn_statistics.last_intimacy(XIAOMING, "luna") is None
    assert dict(bench.state().intimacies) == kept


async def test_a_later_intimacy_takes_the_place_of_the_one_that_is_kept_and_an_earlier_one_does_not(bench: Workbench):
    await close(bench, "t-1", 10, later(days=1))
    await tick(bench, later(days=20))
    await close(bench, "t-2", 70, later(days=21))
    bench.log.now = later(days=22)
    await bench.says("t-0", context={"intimacy": 99}, occurred_at=later().isoformat(), agent_id="aria")
    await bench.says("t-00", context={"intimacy": 99}, occurred_at=later().isoformat())
    await bench.shards.at(0).catch_up()
    await tick(bench, later(days=80))
    assert dict(bench.state().intimacies) == {
        "luna": Intimacy(later(days=21), 70),
        "aria": Intimacy(later(), 99),
    }


async def test_a_retention_that_is_shorter_than_an_hour_keeps_it_too(bench: Workbench):
    bench.log.now = later()
    await bench.says("t-1", context={"intimacy": 10}, occurred_at=later(hours=1).isoformat())  # at most 5 min after
    await bench.shards.at(0).catch_up()
    await tick(bench, later(minutes=2), days=1 / 24 / 60)
    assert dict(bench.state().intimacies) == {"luna": Intimacy(later(minutes=5), 10)}


async def test_where_all_is_kept_for_ever_nothing_is_written(bench: Workbench):
    await close(bench, "t-1", 10, later())
    assert await tick(bench, later(days=400), days=0) == 1
    assert not bench.state().intimacies


async def test_what_is_kept_is_folded_from_the_ledger_again_and_counts_in_the_digest(bench: Workbench, tmp_path: Path):
    await close(bench, "t-1", 10, later())
    await tick(bench, later(days=60))
    again = Workbench(tmp_path / "two", bench.log)
    for shard in again.shards.all():
        await shard.catch_up()
    assert again.state().intimacies == bench.state().intimacies == Map({"luna": Intimacy(later(), 10)})
    bench.shards.at(0).ledger.forget()
    assert bench.state().intimacies == again.state().intimacies, "as the file has it"
    assert digests([again.state()]) == digests([bench.state()])
    assert digests([replace(bench.state(), intimacies=Map())]) != digests([bench.state()])
    again.close()


def test_what_is_kept_is_seen_like_turns_an_agents_own_and_those_of_none():
    kept = Map({None: Intimacy(later(), 1), "luna": Intimacy(later(hours=1), 2)})
    assert last_kept(kept, "luna") == Intimacy(later(hours=1), 2)
    assert last_kept(kept, "aria") == Intimacy(later(), 1)
    assert last_kept(kept, None) == Intimacy(later(hours=1), 2)
    assert last_kept(Map({}), "luna") is None


async def test_a_context_goes_by_the_last_intimacy_when_its_turn_is_gone_and_after_a_rebuild(tmp_path: Path):
    async with front_door(tmp_path, partitions=1, retention_days=30) as door:
        await door.remember("likes coffee", agent_id="luna")
        await door.remember("name is Ming", agent_id="luna", attribute="user_name", value="Ming")
        said = turn("t-1", "hm", agent_id="luna", context={"intimacy": 10}, occurred_at=door.clock.now().isoformat())
        await door.http.post("/v1/events?wait=60", json=said)
        assert await seen(door) == 1, "the name alone"
        door.clock.ahead = timedelta(days=40)
        as_of = door.clock.now().isoformat()
        await door.post("/v1/admin/ticks", {"as_of": as_of, "policy": "retention"})
        assert (await door.get("/v1/events/t-1", user_id="u1")).status_code == 404
        assert await seen(door) == 1, "the name alone"
        rebuilt = (await door.post("/v1/admin/rebuild", {})).json()
        assert rebuilt["equal"] is True
        assert await seen(door) == 1, "the name alone"


async def seen(door: FrontDoor) -> int:
    """Return how many memories a context shows for an intimacy that the request does not say."""
    body = {"user_id": "u1", "agent_id": "luna", "query": "coffee Ming", "recall": False}
    total: int = (await door.post("/v1/context", body)).json()["total_memories"]
    return total


async def test_a_tick_keeps_those_of_many_users_and_of_none_that_said_nothing(bench: Workbench):
    users = [f"user-{n:03}" for n in range(150)]
    for number, user in enumerate(users):
        body = {"type": "TurnRecorded", "event_id": "t-1", "user_id": user, "session_id": "s", "role": "user"}
        body |= {"content": "hm", "occurred_at": later().isoformat()}
        carried = {"context": {"intimacy": number % 100}} if number % 3 else {}
        await bench.publish(CONVERSATIONS.name, body | carried, Owner("default", user).key)
    await bench.shards.at(0).catch_up()
    assert await tick(bench, later(days=40)) == 101
    kept = {user: bench.state(Owner("default", user)).intimacies for user in users}
    assert {user: c[None].intimacy for user, c in kept.items() if c} == {
        u: n % 100 for n, u in enumerate(users) if n % 3
    }
