"""Questions to the folded ledger cost what they ask for, however much a user has."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from support.examples import XIAOMING, remember
from support.given import given

from projections.shard.ledger import MANY_DECISIONS, LedgerFold
from projections.shard.rows.memories import row_of_decision
from projections.shard.tables import connect, name_of
from projections.state.evolve import events_of
from schemas import codec
from schemas.messages.events import MemoryFormed

STEPS = 100


def test_the_decisions_about_an_item_are_found_without_looking_through_the_others():
    [decision] = given().when(remember("用户喜欢喝咖啡", "c-1")).decisions
    body = row_of_decision(codec.encode(decision), ())
    with closing(connect(Path(":memory:"))) as connection:
        rows = [(name_of(XIAOMING), n, n, f"c-{n}", body) for n in range(1, 2_000)]
        connection.executemany("insert into decisions values(?,?,?,?,?)", rows)
        ticks: list[None] = []
        connection.set_progress_handler(lambda: ticks.append(None), STEPS)
        assert LedgerFold(connection, 0).decided(XIAOMING, "c-1999") == [decision]
        assert len(ticks) <= 1


def test_what_an_index_may_have_missed_is_what_changed_or_all_that_its_users_have():
    [decision] = given().when(remember("用户喜欢喝咖啡", "c-1")).decisions
    [formed] = [event.memory_id for event in events_of(decision) if isinstance(event, MemoryFormed)]
    with closing(connect(Path(":memory:"))) as connection:
        rows = [
            (name_of(XIAOMING), n, n, f"c-{n}", row_of_decision(codec.encode(decision), ()))
            for n in range(MANY_DECISIONS)
        ]
        connection.executemany("insert into decisions values(?,?,?,?,?)", rows)
        connection.executemany(
            "insert into memories values(?,?,?,?)", [(name_of(XIAOMING), f"m-{n}", n, b"{}") for n in range(3)]
        )
        fold = LedgerFold(connection, 0)
        assert fold.memories_since(0) == {XIAOMING: ["m-0", "m-1", "m-2"]}
        assert fold.memories_since(1) == {XIAOMING: [formed]}
        assert fold.memories_since(MANY_DECISIONS) == {}
        connection.execute("update decisions set body = ? where offset = 7", (b"of a newer version",))
        assert fold.memories_since(7) == {XIAOMING: ["m-0", "m-1", "m-2"]}


def test_the_decisions_since_an_offset_are_found_without_looking_through_those_before():
    [decision] = given().when(remember("用户喜欢喝咖啡", "c-1")).decisions
    with closing(connect(Path(":memory:"))) as connection:
        rows = [
            (name_of(XIAOMING), n, n, f"c-{n}", row_of_decision(codec.encode(decision), ()))
            for n in range(MANY_DECISIONS)
        ]
        connection.executemany("insert into decisions values(?,?,?,?,?)", rows)
        ticks: list[None] = []
        connection.set_progress_handler(lambda: ticks.append(None), STEPS)
        assert len(LedgerFold(connection, 0).memories_since(MANY_DECISIONS - 1)) == 1
        assert len(ticks) <= 1
