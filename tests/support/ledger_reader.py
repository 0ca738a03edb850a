"""A reader of the ledger that imports nothing of mnemolog: it follows the rules of the page for other languages.

Tests compare its events with our own feed, so that a change that would break other readers breaks a test.
"""

from __future__ import annotations

import hashlib
import io
from base64 import b64decode
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fastavro
import httpx
import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastavro.schema import fingerprint, parse_schema, to_parsing_canonical_form

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiokafka import ConsumerRecord

NONCE = slice(10, 22)


@dataclass
class _User:
    version: int = 0
    offset: int = -1
    item: str = ""
    part: int = 1
    closed: bool = True
    items: set[str] = field(default_factory=set)


class LedgerReader:
    """Reads a ledger once from its beginning, with a broker's address, a registry and a master key."""

    def __init__(self, broker: str, registry: str, master_key: str) -> None:
        """Fetch the schemas; no record is read yet."""
        self._broker = broker
        self._master = b64decode(master_key)
        self._writers = {
            name: schema for subject in _subjects(registry) for name, schema in _schemas(registry, subject)
        }
        self._keys: dict[bytes, AESGCM | None] = {}
        self._replacements: dict[str, dict[str, bytes]] = defaultdict(dict)
        self._users: dict[tuple[str, str], _User] = defaultdict(_User)

    async def events(self) -> list[tuple[str, str, str | None, bytes | None]]:
        """Return the counted events of memories that are not erased, and the erasures: type, user, memory, content."""
        await self._learn()
        found: list[tuple[str, str, str | None, bytes | None]] = []
        async for name, event in self._counted():
            user, memory_id = event["envelope"]["user_id"], event.get("memory_id")
            if name == "UserErased":
                found = [one for one in found if one[1] != user]
            elif name == "MemoryErased":
                found = [one for one in found if one[1:3] != (user, memory_id)]
            elif memory_id is None:
                continue
            found.append((name, user, memory_id, (event.get("content") or {}).get("data")))
        return found

    async def _learn(self) -> None:
        async for record in self._records("mnemolog.keys"):
            self._learn_key(record.key, record.value)
        async for record in self._records("mnemolog.replacements"):
            place, _, key_id = record.key.decode().rpartition("/")
            self._replacements[place].pop(key_id, None)
            if record.value:
                self._replacements[place][key_id] = record.value

    async def _counted(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield the events of decisions that count."""
        async for record in self._records("mnemolog.memories"):
            if (clear := self._read(record)) is None:
                continue
            _, decision = self._decoded(clear)
            if decision["envelope"]["tenant"] != "*" and self._counts(decision):
                for event in decision["events"]:
                    yield self._decoded(event)

    async def _records(self, topic: str) -> AsyncIterator[ConsumerRecord[bytes, bytes]]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._broker, auto_offset_reset="earliest")
        await consumer.start()
        try:
            # partitions_for_topic knows only topics whose metadata was requested.
            await consumer._client._wait_on_metadata(topic)
            for partition in sorted(consumer.partitions_for_topic(topic) or ()):
                place = TopicPartition(topic, partition)
                consumer.assign([place])
                end = (await consumer.end_offsets([place]))[place]
                await consumer.seek_to_beginning(place)
                while await consumer.position(place) < end:
                    for record in (await consumer.getmany(place, timeout_ms=500)).get(place, ()):
                        yield record
        finally:
            await consumer.stop()

    def _decoded(self, data: bytes) -> tuple[str, Any]:
        assert data[:2] == b"\xc3\x01"
        schema = self._writers[data[2:10]]
        return schema["name"].removeprefix("mnemolog."), fastavro.schemaless_reader(io.BytesIO(data[10:]), schema, None)

    def _learn_key(self, key_id: bytes, value: bytes | None) -> None:
        if not value:
            self._keys[key_id] = None
        elif self._keys.get(key_id, self) is not None:
            _, data_key = self._decoded(value)
            master_id = hashlib.sha256(b"mnemolog master key\0" + self._master).hexdigest()[:16]
            assert data_key["kek_id"] == master_id
            wrapped = data_key["wrapped"]
            associated = b"mnemolog data key\0" + key_id + master_id.encode()
            self._keys[key_id] = AESGCM(AESGCM(self._master).decrypt(wrapped[:12], wrapped[12:], associated)[:32])

    def _unsealed(self, place: str, value: bytes) -> bytes | None:
        if value[:2] != b"\xc3\x02":
            return value
        cipher = self._keys.get(value[2:10])
        if cipher is None:
            return None
        clear = cipher.decrypt(value[NONCE], value[NONCE.stop :], value[: NONCE.start] + place.encode())
        length = int.from_bytes(clear[:2], "big")
        return clear[2 + (0 if length == 0xFFFF else length) :]

    def _read(self, record: ConsumerRecord[bytes, bytes]) -> bytes | None:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        forms = [self._unsealed(place, one) for one in reversed(self._replacements.get(place, {}).values())]
        forms.insert(0, self._unsealed(record.topic, record.value))
        return next((form for form in forms if form is not None), None)

    def _counts(self, decision: dict[str, Any]) -> bool:
        user = self._users[decision["envelope"]["tenant"], decision["envelope"]["user_id"]]
        part = user.part + 1 if decision["item_id"] == user.item and not user.closed else 1
        if decision["item_type"] == "EraseUser":
            fits = decision["version"] > user.version
        else:
            fits = decision["version"] == user.version + 1 and decision["part"] == part
        is_new = decision["item_id"] not in user.items and decision["item_offset"] > user.offset
        if not fits or not (decision["part"] > 1 or is_new):
            return False
        user.version, user.offset, user.item = decision["version"], decision["item_offset"], decision["item_id"]
        user.part, user.closed = decision["part"], decision["last_part"]
        user.items.add(decision["item_id"])
        return True


def _subjects(registry: str) -> list[str]:
    subjects: list[str] = _asked(registry, "/subjects")
    return [one for one in subjects if one.startswith(("mnemolog.memories-", "mnemolog.keys-"))]


def _schemas(registry: str, subject: str) -> list[tuple[bytes, Any]]:
    """Return the parsed schemas of a subject, each with the fingerprint by which a message names it."""
    found = []
    for version in _asked(registry, f"/subjects/{subject}/versions"):
        schema = orjson.loads(_asked(registry, f"/subjects/{subject}/versions/{version}")["schema"])
        name = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
        found.append((bytes.fromhex(name), parse_schema(schema)))
    return found


def _asked(registry: str, path: str) -> Any:
    return httpx.get(registry + path, timeout=120).raise_for_status().json()
