"""The simulated logs pass the suite of all logs: what is found on them can be found on the others."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest
from contract.log_suite import LogSuite
from simulation.exclusive_log import SimulatedExclusiveLog
from simulation.simulated_log import SimulatedLog
from support.memory_log import START

from schemas.instant import SystemClock
from schemas.log import LogMoved, NewRecord

TOPIC = "inbox"


class TestSimulatedLog(LogSuite):
    @pytest.fixture
    def log(self) -> SimulatedLog:
        return SimulatedLog(SystemClock())


class TestSimulatedExclusiveLog(LogSuite):
    @pytest.fixture
    def log(self) -> SimulatedExclusiveLog:
        return SimulatedExclusiveLog(SystemClock(), Random(1))  # noqa: S311 - repeatable on purpose


def record(value: bytes, partition: int = 0) -> NewRecord:
    return NewRecord(topic=TOPIC, partition=partition, key=b"k", value=value)


class TickingClock:
    """A clock that goes on each time that it is looked at."""

    def __init__(self) -> None:
        """Begin."""
        self._now = START

    def now(self) -> datetime:
        """Return a later time than before."""
        self._now += timedelta(milliseconds=1)
        return self._now


@pytest.fixture
async def log() -> SimulatedExclusiveLog:
    log = SimulatedExclusiveLog(TickingClock(), Random(1))  # noqa: S311 - repeatable on purpose
    await log.create_topic(TOPIC, 2)
    return log


async def test_what_is_settled_has_the_place_and_the_time_foreseen(log: SimulatedExclusiveLog):
    place = log.next_place(TOPIC, 0)
    appended = await log.append_settled([record(b"a"), record(b"b")], [place])
    assert appended[0] == place
    assert [one.recorded_at for one in appended] == [place.recorded_at] * 2
    assert all(log.is_settled(one.position) for one in appended)


@pytest.mark.parametrize("partition", [0, 1])
async def test_what_comes_first_to_a_place_or_with_a_later_time_leaves_nothing_appended(
    log: SimulatedExclusiveLog, partition: int
):
    place = log.next_place(TOPIC, 0)
    await log.append([record(b"first", partition)])
    with pytest.raises(LogMoved):
        await log.append_settled([record(b"a"), record(b"b", 1)], [place])
    assert [len(log.records[TOPIC, p]) for p in (0, 1)] == [1 - partition, partition]


async def test_the_next_process_knows_of_nothing_settled(log: SimulatedExclusiveLog):
    [appended] = await log.append_settled([record(b"a")], [log.next_place(TOPIC, 0)])
    log.end_process("")
    assert not log.is_settled(appended.position)
