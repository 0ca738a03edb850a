"""Questions to the folded ledger cost what they ask for, however much a user has."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from examples import XIAOMING, remember
from given import given

from projections.ledger_fold import LedgerFold
from projections.shard_file import connect, name_of
from schemas import codec

STEPS = 100


def test_the_decisions_about_an_item_are_found_without_looking_through_the_others():
    [decision] = given().when(remember("用户喜欢喝咖啡", "c-1")).decisions
    body = codec.encode(decision)
    with closing(connect(Path(":memory:"))) as connection:
        rows = [(name_of(XIAOMING), n, n, f"c-{n}", body) for n in range(1, 2_000)]
        connection.executemany("insert into decisions values(?,?,?,?,?)", rows)
        ticks: list[None] = []
        connection.set_progress_handler(lambda: ticks.append(None), STEPS)
        assert LedgerFold(connection, 0).decided(XIAOMING, "c-1999") == [decision]
        assert len(ticks) <= 1
