"""The steps observe and remember of one worker over a log in memory, with an extractor that echoes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson
from support.examples import XIAOMING, vector_of
from support.memory_log import MemoryLog

from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from schemas import codec
from schemas.log import NewRecord
from schemas.messages.decision import Decision
from schemas.messages.inbox import EXTRACTIONS, CandidatesExtracted, ExtractionRejected
from schemas.topics import CONVERSATIONS, DEAD_LETTERS, INBOX, LEDGER
from streams.agents.extraction_queue import ExtractionQueue
from streams.agents.observe import Observe
from streams.agents.reencode import Reencoder
from streams.agents.remember import Remember
from streams.decisions.parameters import Parameters
from streams.delivery.delivery import Delivery
from streams.delivery.keyed_pool import KeyedPool
from streams.delivery.retry import fold_with_retry
from streams.extraction.protocol import Extraction, Proposal
from streams.extraction.request import ExtractionService
from streams.extraction.verbatim import VerbatimExtractor
from streams.extraction.window import WindowLimits
from streams.registry.protocol import NoRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from projections.embedding.embedder import Vectors
    from projections.state.memory import UserState
    from schemas.identity import Owner
    from schemas.log import Record
    from schemas.messages.dead_letters import DeadLetter
    from streams.extraction.protocol import Window
    from streams.registry.protocol import WriterSchemas


class CharacterEmbedder:
    """Returns the vectors of `examples.vector_of`."""

    model = "test"

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        """Return a row for each text."""
        return np.stack([np.frombuffer(vector_of(text), "<f4") for text in texts])


class EchoExtractor:
    """Proposes each piece word for word; `errors` are raised first, one for each call."""

    model = "echo"
    prompt_hash = "echo-1"

    def __init__(self) -> None:
        """Begin without windows and errors."""
        self.windows: list[Window] = []
        self.errors: list[Exception] = []

    async def extract(self, window: Window) -> Extraction:
        """Record the window, and return a proposal for each piece."""
        self.windows.append(window)
        if self.errors:
            raise self.errors.pop(0)
        proposals = (Proposal(content=p.text, sources=(n,)) for n, p in enumerate(window.pieces))
        return Extraction(proposals=tuple(proposals))

    @property
    def asked(self) -> list[list[str]]:
        """The piece ids of every window that was extracted."""
        return [[p.piece_id for p in w.pieces] for w in self.windows]


def hold_all(shards: Shards) -> Shards:
    """Hold every partition with the state in its file; the test decides what is folded, and when."""
    for partition in range(shards.partitions):
        shards.assignment.hold(partition, shards.generation.open(partition))
    return shards


class Workbench:
    """One worker, which handles one delivery at a time. Another workbench over the same log is its successor."""

    def __init__(
        self,
        folder: Path,
        log: MemoryLog | None = None,
        *,
        partitions: int = 1,
        schemas: WriterSchemas | None = None,
        is_only_writer: bool = False,
        limits: WindowLimits | None = None,
        memorizes: bool = True,
        **extracting: Any,
    ) -> None:
        """Open shards in the folder. `schemas` stands for a registry; `extracting` is passed to ExtractionQueue."""
        self.log = log or MemoryLog(partitions)
        self.shards = Shards(folder, self.log, partitions)
        self.index_sync = IndexSync(EmbeddedIndex, ShardIndexSource(self.shards))
        self.shards.subscribe(self.index_sync)
        hold_all(self.shards)
        self._has_begun = False
        self.extractor = EchoExtractor()
        self.failures: list[BaseException] = []
        self.counts: list[tuple[str, str]] = []
        self.asking_pool = KeyedPool(4, self.failures.append)
        self.deciding_pool = KeyedPool(4, self.failures.append)
        self.extractions = ExtractionQueue(
            log=self.log,
            shards=self.shards,
            service=ExtractionService(CharacterEmbedder()),
            extractor=self.extractor,
            verbatim=VerbatimExtractor(),
            pool=self.asking_pool,
            counted=self._count,
            **extracting,
        )
        self.observe = Observe(
            log=self.log,
            shards=self.shards,
            extractions=self.extractions,
            reencoder=Reencoder(
                self.log, self.shards.partition, schemas or NoRegistry(), self.failures.append, self._count
            ),
            limits=limits or WindowLimits(),
            memorizes=memorizes,
        )
        self.remember = Remember(
            log=self.log,
            shards=self.shards,
            index_sync=self.index_sync,
            pool=self.deciding_pool,
            parameters=Parameters(),
            counted=self._count,
            is_only_writer=is_only_writer,
            destroy=self._destroy,
            resume=self.observe.resumption.later,
        )
        self.acked: list[str] = []
        self.destroyed: list[bytes] = []
        """The ids of the data keys that were destroyed."""

    def _count(self, step: str, outcome: str) -> None:
        self.counts.append((step, outcome))

    async def _destroy(self, key_ids: Sequence[bytes]) -> None:
        self.destroyed.extend(key_ids)

    def close(self) -> None:
        """Close the shards."""
        self.shards.close()

    def revoke(self) -> None:
        """Revoke the partitions, and assign them again at once."""
        for partition in self.shards.held():
            self.observe.revoke(partition)
            self.remember.revoke(partition)
            self.shards.assignment.release(partition)
        self.shards.takeover.assign(())
        self.shards.assignment.unassign()
        hold_all(self.shards)
        self._has_begun = False

    async def publish(
        self, topic: str, value: bytes | dict[str, Any], key: bytes | None = XIAOMING.key, partition: int = 0
    ) -> Record:
        """Append a record, and return it as it is in the log."""
        data = value if isinstance(value, bytes) else orjson.dumps(value)
        [appended] = await self.log.append([NewRecord(topic=topic, partition=partition, key=key, value=data)])
        [record] = await self.log.read(topic, partition, appended.position.offset, 1)
        return record

    async def observes(self, *records: Record) -> None:
        """Deliver records to observe, and wait until everything that they start has ended."""
        await self._begin()
        for record in records:
            await self.observe.handle(self._delivery(record))
        await self.observe.reencoder.settle()
        await self.asking_pool.settle()

    async def remembers(self, *records: Record) -> None:
        """Deliver records to remember, and wait until everything that they start has ended."""
        await self._begin()
        for record in records:
            await self.remember.handle(self._delivery(record))
        await self.deciding_pool.settle()
        assert self.failures == []

    async def _begin(self) -> None:
        """Fold everything before the first delivery after partitions were assigned, as production does."""
        if not self._has_begun:
            for shard in self.shards.all():
                await fold_with_retry(shard.catch_up)
            self._has_begun = True

    async def decides(self, item: Any) -> Record:
        """Append an item to the inbox of its owner's partition, and deliver it to remember."""
        record = await self.asks(item)
        await self.remembers(record)
        return record

    async def asks(self, item: Any) -> Record:
        """Append an item to the inbox of its owner's partition."""
        owner = item.envelope.owner
        return await self.publish(INBOX.name, codec.encode(item), owner.key, self.shards.partition(owner))

    def _delivery(self, record: Record) -> Delivery:
        return Delivery(record, lambda: self.acked.append(str(record.position)))

    async def inbox(self, partition: int = 0) -> list[Any]:
        """Return the items of the inbox."""
        return [codec.decode(r.value) for r in await self.log.read(INBOX.name, partition, 0)]

    async def answers(self) -> list[CandidatesExtracted | ExtractionRejected]:
        """Return the extractions in the inbox."""
        return [i for i in await self.inbox() if isinstance(i, EXTRACTIONS)]

    async def ledger(self, partition: int = 0) -> list[Decision]:
        """Return the decisions in the ledger, void ones included."""
        return [codec.decode_as(r.value, Decision) for r in await self.log.read(LEDGER.name, partition, 0)]

    async def dead(self) -> list[DeadLetter]:
        """Return the dead letters."""
        return [codec.decode(r.value) for r in await self.log.read(DEAD_LETTERS.name, 0, 0)]

    def state(self, owner: Owner = XIAOMING) -> UserState:
        """Return a user's state."""
        return self.shards.state(owner)

    async def says(self, event_id: str, content: str = "我喜欢喝咖啡", **more: Any) -> Record:
        """Publish a user turn of Xiaoming's in session s1."""
        body = {"type": "TurnRecorded", "event_id": event_id, "user_id": "xiaoming", "agent_id": "luna"}
        body |= {"session_id": "s1", "role": "user", "content": content}
        return await self.publish(CONVERSATIONS.name, body | more)

    async def ends(self, event_id: str, **more: Any) -> Record:
        """Publish the end of session s1."""
        body = {
            "type": "SessionEnded",
            "event_id": event_id,
            "user_id": "xiaoming",
            "agent_id": "luna",
            "session_id": "s1",
        }
        return await self.publish(CONVERSATIONS.name, body | more)
