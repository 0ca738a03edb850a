"""Reads the log of a row from Kafka itself, past every worker, as far as it is there."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from support.counting import decisions

from schemas.identity import event_of_piece
from schemas.log import LogUnavailable
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, LEDGER
from streams.sealing.key_files import read_keys
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import Log, Record
    from streams.transports.kafka.group import Member

READ = (CONVERSATIONS, INBOX, LEDGER, DEAD_LETTERS)
LOOK_SECONDS = 0.25
GROUPS = "__consumer_offsets"
"""Where Kafka keeps what its groups are, in one partition, as the tests set it up."""
OF_GROUP = b"\0\2"
"""The first bytes of the key of what a group is; those of what it has committed are others."""
SHARED_OUT = b"\0\x08consumer"
"""What its value has in the third byte and after, once a group has shared out its partitions."""


class KafkaReading:
    """What the topics hold, read on from where the last look ended."""

    def __init__(self, addresses: Sequence[str], *, master_key: str | None = None) -> None:
        """Connect at the first look. With a master key what lies sealed is opened, unless its own key is gone."""
        self.records: dict[tuple[str, int], list[Record]] = {}
        self.decided: dict[str, float] = {}
        """The observations that a decision in the ledger covers, with the monotonic time when that was seen."""
        self._log = KafkaLog(addresses, client_id="faults", timeout_s=10)
        self._opened: Log = self._log
        if master_key is not None:
            keys = UserKeys(self._log, read_keys(master_key, "the row's key"))
            self._opened = SealedLog(self._log, keys, replacements=Replacements(self._log, keys))
        self._groups: list[Record] = []
        self._started = False
        self._looking = asyncio.Lock()

    async def close(self) -> None:
        """Disconnect."""
        await self._log.stop()

    async def forget(self, topic: str) -> None:
        """Read a topic from its beginning at the next look, because another was put in its place."""
        async with self._looking:
            await self._log.stop()
            self._started = False
            for place in [place for place in self.records if place[0] == topic]:
                del self.records[place]

    async def look(self) -> None:
        """Read what is new. Raises LogUnavailable."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        if not self._started:
            await self._log.start()
            self._started = True
        for topic in READ:
            for partition in range(await self._log.partitions(topic.name)):
                place = (topic.name, partition)
                known = self.records.setdefault(place, [])
                while new := await self._opened.read(*place, known[-1].position.offset + 1 if known else 0):
                    known += new
                    if topic is LEDGER:
                        for decision in decisions(new):
                            for piece in decision.covered:
                                self.decided.setdefault(event_of_piece(piece), time.monotonic())

    async def generations(self) -> int:
        """Return how often the group has shared out its partitions until now, or lost its last member."""
        known = self._groups
        while new := await self._log.read(GROUPS, 0, known[-1].position.offset + 1 if known else 0):
            known += new
        told = [record.value for record in known if (record.key or b"").startswith(OF_GROUP)]
        return sum(value[2 : 2 + len(SHARED_OUT)] == SHARED_OUT for value in told)

    async def members(self) -> list[Member]:
        """Return the workers in the group, as Kafka knows it."""
        return await self._log.members()

    async def until_decided(self, event_ids: Sequence[str], seconds: float) -> float:
        """Wait until all these observations are decided; return the seconds it took. Raises AssertionError."""
        began, wanted = time.monotonic(), set(event_ids)
        while True:
            with suppress(LogUnavailable):  # a row has taken the broker away
                await self.look()
            if wanted <= self.decided.keys():
                return time.monotonic() - began
            missing = sorted(wanted - self.decided.keys())
            assert time.monotonic() < began + seconds, f"not decided after {seconds} s: {len(missing)}: {missing[:10]}"
            await asyncio.sleep(LOOK_SECONDS)
