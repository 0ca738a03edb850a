"""Bytes that do not belong where they are put, how they get there, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from contract.front_door import turn
from faults.sample_worker import START

from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope
from schemas.messages.observations import TurnRecorded
from schemas.topics import GLOBALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.worker.worker import Worker

ANNA, BEN = Owner("default", "anna"), Owner("default", "ben")
UNKNOWN_SCHEMA = codec.MARKER + b"\x01\x02\x03\x04\x05\x06\x07\x08" + b"what only a newer version can read"
GARBAGE = (b"", b"\x00", b"\xff\xfe garbage \xff", codec.MARKER, codec.MARKER + b"\x01\x02", b"\xc3\x02" + bytes(40))


def said(owner: Owner, event_id: str, content: str = "I live in Berlin.") -> TurnRecorded:
    return TurnRecorded(
        envelope=Envelope(event_id=event_id, tenant=owner.tenant, user_id=owner.user_id, occurred_at=START),
        session_id="s1",
        role="user",
        content=content,
    )


def spelt(owner: Owner, event_id: str, **more: Any) -> bytes:
    """Return a turn as a foreign producer spells it."""
    return orjson.dumps(turn(event_id, "I live in Berlin.", user_id=owner.user_id) | more)


def truncated(message: Any) -> bytes:
    return codec.encode(message)[:-3]


async def put(worker: Worker, topic: str, owner: Owner, value: bytes, **more: Any) -> NewRecord:
    """Append bytes to the owner's partition of a topic, under the owner's key unless `more` says otherwise."""
    partition = 0 if topic == GLOBALS.name else worker.shards.partition(owner)
    given: dict[str, Any] = {"topic": topic, "partition": partition, "key": owner.key, "value": value} | more
    record = NewRecord(**given)
    await worker.log.append([record])
    return record


async def set_aside(worker: Worker) -> list[tuple[str, bytes | None, bytes]]:
    """Return topic, key and bytes of the dead letters."""
    return sorted(((x.topic, x.key, x.value) for x in await worker.dead_letters.waiting()), key=lambda x: (x[0], x[2]))


def as_set_aside(records: Sequence[NewRecord]) -> list[tuple[str, bytes | None, bytes]]:
    return sorted(((r.topic, r.key, r.value) for r in records), key=lambda x: (x[0], x[2]))


def cities(worker: Worker, owner: Owner) -> list[str]:
    return sorted(m.value or "" for m in worker.shards.state(owner).memories.values() if m.attribute == "city")
