"""Where a worker can be killed: the boundaries of every step, and the worker that dies at one of them.

Production code knows nothing of this: the log, the shards, the extractor and the agents are wrapped from outside.
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contract.front_door import HashEmbedder
from support.own_words import OwnWordsHere

from mnemolog.worker.worker import Worker
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from mnemolog.settings import Settings
    from projections.shard.ledger import Batch
    from projections.shard.shard import Shard
    from schemas.log import Appended, NewRecord, Record
    from streams.delivery.delivery import Delivery
    from streams.extraction.protocol import Extraction, Window

APPENDED = ("mnemolog.conversations", "mnemolog.inbox", "mnemolog.memories")
FOLDED = (*APPENDED,)
AGENTS = ("observe", "remember", "project")
POINTS = (
    *(f"{when} append {topic}" for topic in APPENDED for when in ("before", "after")),
    *(f"{when} fold {topic}" for topic in FOLDED for when in ("before", "amid", "after")),
    *(f"{when} extract" for when in ("before", "after")),
    *(f"{when} ack {agent}" for agent in AGENTS for when in ("before", "after")),
    *(f"{when} commit" for when in ("before", "after")),
)
"""`amid fold` is when everything is written and the transaction, which folds share, is about to commit; `after fold` is
when it is written and, mostly, not committed."""


class KillSwitch:
    """Kills this process, as the machine might, when a point is passed for the n-th time."""

    def __init__(self, point: str, nth: int) -> None:
        self._point = point
        self._left = nth

    def passes(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class MortalLog(SqliteLog):
    """The embedded log, which may be its process's last."""

    switch: KillSwitch

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        return await self._mortally(records, super().append(records))

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        return await self._mortally(records, super().append_settled(records, places))

    async def _mortally(
        self, records: Sequence[NewRecord], appending: Coroutine[Any, Any, list[Appended]]
    ) -> list[Appended]:
        topics = sorted({record.topic for record in records})
        for topic in topics:
            self.switch.passes(f"before append {topic}")
        appended = await appending
        for topic in topics:
            self.switch.passes(f"after append {topic}")
        return appended

    async def commit_offsets(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        self.switch.passes("before commit")
        await super().commit_offsets(group, offsets)
        self.switch.passes("after commit")


class MortalExtractor(OwnWordsHere):
    """The rules, which may be their process's last."""

    def __init__(self, switch: KillSwitch) -> None:
        super().__init__()
        self._switch = switch

    async def extract(self, window: Window) -> Extraction:
        self._switch.passes("before extract")
        extraction = await super().extract(window)
        self._switch.passes("after extract")
        return extraction


class MortalWorker(Worker):
    """A worker that dies at a point. Its parts are wrapped the moment they are there."""

    switch: KillSwitch

    def __init__(self, settings: Settings, switch: KillSwitch) -> None:
        super().__setattr__("switch", switch)
        super().__init__(settings, extractor=MortalExtractor(switch), embedder=HashEmbedder())

    async def _open_log(self) -> SqliteLog:
        log = MortalLog.open(self.settings.data_dir.resolve() / "log", self.clock.now)
        assert isinstance(log, MortalLog)
        log.switch = self.switch
        return log

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "shards":
            make_mortal(value.globals, self.switch)
            value.generation.open = mortal_opening(value.generation.open, self.switch)
        if name in AGENTS:
            value.handle = mortal_acks(name, value.handle, self.switch)


def mortal_opening(opening: Callable[..., Shard], switch: KillSwitch) -> Callable[..., Shard]:
    """Make each shard mortal when it is opened."""

    def opened(*arguments: Any) -> Shard:
        shard = opening(*arguments)
        make_mortal(shard, switch)
        return shard

    return opened


def make_mortal(shard: Shard, switch: KillSwitch) -> None:
    """Let the process die before, amid or after this shard's fold of a topic."""
    fold: Any = shard.fold
    uncommitted: list[str] = []

    def mortal_fold(topic: str, records: Sequence[Record], batch: Batch | None = None) -> None:
        switch.passes(f"before fold {topic}")
        uncommitted.append(topic)
        fold(topic, records, batch)
        switch.passes(f"after fold {topic}")

    def traced(statement: str) -> None:
        if statement.lower().startswith("commit"):
            for topic in uncommitted:
                switch.passes(f"amid fold {topic}")
            uncommitted.clear()

    shard.fold = mortal_fold  # type: ignore[method-assign]
    shard._connection.set_trace_callback(traced)


def mortal_acks(agent: str, handle: Callable[[Delivery], Any], switch: KillSwitch) -> Callable[[Delivery], Any]:
    """Let the process die before or after this agent acknowledges a record."""

    async def mortal_handle(delivery: Delivery) -> None:
        def ack() -> None:
            switch.passes(f"before ack {agent}")
            delivery.ack()
            switch.passes(f"after ack {agent}")

        await handle(replace(delivery, ack=ack))

    return mortal_handle
