"""A producer of its own, past every worker: plain Kafka, and registry Avro."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from schemas import codec
from schemas.inputs.input_events import parse_event
from schemas.topics import CONVERSATIONS
from streams.registry.confluent.registry import subjects

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

TIMEOUT_MS = 10_000
PAUSE_SECONDS = 0.2
HEADER_BYTES = 10
"""Of single-object Avro: the same body stands behind another header."""


class RegistryProducer:
    """To Kafka: each event by itself, acks=all, keyed by tenant and user, in an id that the registry gave."""

    def __init__(self, addresses: Sequence[str], registry: str) -> None:
        """Connect to nothing yet; who sends has registered before."""
        self.retries = 0
        self._addresses = list(addresses)
        self._registry = registry
        self.ids: dict[str, int] = {}
        """The ids to write by from now on, of each kind of event."""
        self._kafka: AIOKafkaProducer

    async def register(self, doc: str) -> dict[str, int]:
        """Register the schemas with these words as their doc, under our workers' subjects; return their ids."""
        ours, ids = dict(subjects()), dict[str, int]()
        async with httpx.AsyncClient(base_url=self._registry, timeout=TIMEOUT_MS / 1000) as http:
            for name in ("TurnRecorded", "SessionEnded"):
                subject = f"{CONVERSATIONS.name}-mnemolog.{name}"
                schema = {"schema": ours[subject].replace("{", f'{{"doc": "{doc}",', 1)}
                answer = await http.post(f"/subjects/{subject}/versions", json=schema)
                ids[name] = int(answer.raise_for_status().json()["id"])
        assert not {*ids.values()} & {*self.ids.values()}, (ids, self.ids)
        return ids

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """See `Way.open`."""
        self._kafka = AIOKafkaProducer(
            bootstrap_servers=self._addresses, acks="all", request_timeout_ms=TIMEOUT_MS, client_id="registry-producer"
        )
        await self._kafka.start()
        try:
            yield
        finally:
            await self._kafka.stop()

    async def send(self, batch: Sequence[dict[str, Any]]) -> list[str]:
        """See `Way.send`."""
        positions = []
        for event in batch:
            while True:
                message = parse_event(event, tenant="default", accepted_at=datetime.now(UTC), event_id="")
                body = codec.encode(message)[HEADER_BYTES:]
                value = b"\x00" + self.ids[event["type"]].to_bytes(4) + body
                try:
                    kept = await self._kafka.send_and_wait(CONVERSATIONS.name, value, key=message.envelope.owner.key)
                    positions.append(f"{kept.topic}:{kept.partition}:{kept.offset}")
                    break
                except KafkaError:
                    self.retries += 1
                    await asyncio.sleep(PAUSE_SECONDS)
        return positions
