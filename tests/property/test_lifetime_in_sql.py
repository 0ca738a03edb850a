"""SQLite and Python say the same of every memory: whether it is active at an instant."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st
from support.examples import said
from support.given import given as known

from projections.shard.rows.memories import memory_of_row, row_of_memory
from projections.state.lifetime import IS_ACTIVE_SQL, sql_instant
from projections.state.memory import ACTIVE, STATUSES

MEMORY = known(said("用户喜欢喝咖啡", "t-1")).only
MOMENT = timedelta(microseconds=1)
INSTANTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001 - as it wants


@given(INSTANTS, st.sampled_from((-1, 0, 1)), st.booleans(), st.sampled_from(STATUSES), st.integers(-14, 14))
def test_a_row_is_active_in_sql_exactly_when_its_memory_is(
    expires_at: datetime,
    side: int,
    expires: bool,  # noqa: FBT001 - drawn
    status: str,
    zone: int,
):
    memory = replace(MEMORY, status=status, expires_at=expires_at if expires else None)
    now = (expires_at + side * MOMENT).astimezone(timezone(timedelta(hours=zone)))
    query = f"select {IS_ACTIVE_SQL} from (select cast(:row as text) as body)"  # noqa: S608 - our own words
    values = {"row": row_of_memory(memory), "active": ACTIVE, "now": sql_instant(now)}
    with closing(sqlite3.connect(":memory:")) as connection:
        [found] = connection.execute(query, values).fetchone()
    assert bool(found) == (memory.status_at(now) == ACTIVE)
    assert memory_of_row(row_of_memory(memory)) == memory
