"""A command is not sent before an earlier one of its partition, though the clock be set back and others write there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from mnemolog.commands.commands import Commands
from schemas.identity import Owner
from schemas.log import Appended, NewRecord, Position, Record
from schemas.messages.envelope import Envelope
from schemas.messages.inbox import ForgetMemory
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import Sequence

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
XIAOMING = Owner("default", "xiaoming")


class HalfALog:
    """One partition of the inbox, whose time is set."""

    def __init__(self) -> None:
        self.now = NOON
        self.times: list[datetime] = []
        self.reads = 0

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        self.times += [self.now] * len(records)
        first = len(self.times) - len(records)
        return [Appended(Position(INBOX.name, 0, first + n), self.now) for n in range(len(records))]

    async def end(self, _topic: str, _partition: int) -> int:
        return len(self.times)

    async def read(self, topic: str, partition: int, start: int, limit: int) -> list[Record]:
        self.reads += 1
        return [
            Record(position=Position(topic, partition, n), recorded_at=self.times[n], key=None, value=b"", headers=())
            for n in range(start, min(start + limit, len(self.times)))
        ]


class OneShard:
    def require(self, owner: Owner) -> None:
        """Have everybody."""

    def partition(self, _owner: Owner) -> int:
        return 0


class SetBack:
    """A clock that was set back by an hour."""

    def now(self) -> datetime:
        return NOON - timedelta(hours=1)


@pytest.fixture
def log() -> HalfALog:
    return HalfALog()


@pytest.fixture
def commands(log: HalfALog) -> Commands:
    anything: Any = None
    return Commands(cast("Any", log), cast("Any", OneShard()), anything, anything, SetBack())


async def sent(commands: Commands) -> datetime:
    return (await commands.envelope(XIAOMING, "c-1")).occurred_at


def forget() -> ForgetMemory:
    return ForgetMemory(
        envelope=Envelope(event_id="f", tenant="default", user_id="xiaoming", occurred_at=NOON), memory_id="m"
    )


async def test_the_first_command_of_a_partition_has_the_clocks_time(commands: Commands):
    assert await sent(commands) == NOON - timedelta(hours=1)


async def test_after_one_that_was_appended_here_the_time_is_known_without_reading(log: HalfALog, commands: Commands):
    await commands.append([forget(), forget()])
    assert (await sent(commands), log.reads) == (NOON, 0)


async def test_after_one_that_another_worker_appended_the_log_says_when_that_was(log: HalfALog, commands: Commands):
    await commands.append([forget()])
    log.now += timedelta(minutes=5)
    await log.append([NewRecord(topic=INBOX.name, partition=0, key=XIAOMING.key, value=b"of another")])
    assert (await sent(commands), log.reads) == (NOON + timedelta(minutes=5), 1)
