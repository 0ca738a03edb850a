"""Records as a producer with a schema registry writes them: a zero byte, the schema's id, and an Avro body."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import fastavro
from fastavro.schema import parse_schema
from support.examples import XIAOMING

from schemas.codec import Undecodable, released_schema
from schemas.messages.observations import SessionEnded, TurnRecorded

if TYPE_CHECKING:
    from collections.abc import Callable

OURS, ENDED, THEIRS, INCOMPATIBLE = 1, 2, 3, 4
"""Ids of schemas."""
SAID_AT = 1_767_600_000_000_000
"""2026-01-05T08:00:00Z in microseconds."""


def theirs(**occurred_at: Any) -> dict[str, Any]:
    """Return a producer's own schema of a turn: another namespace, one more field, and few of ours."""
    time = occurred_at or {"type": {"type": "long", "logicalType": "timestamp-millis"}}
    strings = [{"name": name, "type": "string"} for name in ("event_id", "tenant", "user_id", "agent_id")]
    envelope = {"type": "record", "name": "Envelope", "fields": [*strings, {"name": "occurred_at", **time}]}
    fields = [
        {"name": "envelope", "type": envelope},
        {"name": "channel", "type": "string"},
        {"name": "session_id", "type": "string"},
        {"name": "role", "type": "string"},
        {"name": "content", "type": "string"},
    ]
    return {"type": "record", "name": "TurnRecorded", "namespace": "com.acme.chat", "fields": fields}


def incompatible() -> dict[str, Any]:
    """Return a schema of a turn whose time is a text."""
    return theirs(type="string")


SCHEMAS = {
    OURS: released_schema(TurnRecorded),
    ENDED: released_schema(SessionEnded),
    THEIRS: theirs(),
    INCOMPATIBLE: incompatible(),
}


def turn(
    event_id: str, content: str = "我喜欢喝咖啡", user_id: str = XIAOMING.user_id, at: object = SAID_AT
) -> dict[str, Any]:
    """Return a turn's fields, including those of THEIRS."""
    envelope = {"event_id": event_id, "tenant": "default", "user_id": user_id, "agent_id": "luna", "occurred_at": at}
    return {"envelope": envelope, "session_id": "s1", "role": "user", "content": content, "channel": "phone"}


def end(event_id: str, user_id: str = XIAOMING.user_id) -> dict[str, Any]:
    """Return the fields of a session's end."""
    return {"envelope": turn(event_id, user_id=user_id)["envelope"], "session_id": "s1"}


def in_registry_avro(schema_id: int, fields: dict[str, Any], schema: dict[str, Any] | None = None) -> bytes:
    """Return the value of a record in registry Avro."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, parse_schema(schema or SCHEMAS[schema_id]), fields)
    return b"\x00" + schema_id.to_bytes(4) + body.getvalue()


class Schemas:
    """A registry with these schemas; requests for the ids in `away` wait until `returns`."""

    def __init__(self, *away: int) -> None:
        """Take the ids that have no answer yet."""
        self._away = set(away)
        self._back = asyncio.Event()
        self.waited: list[int] = []
        self.guids: dict[str, int] = {}

    async def writer(self, schema_id: int | str, waits: Callable[[], None] = lambda: None) -> object:
        """See `WriterSchemas.writer`."""
        schema_id = self.guids.get(schema_id, 0) if isinstance(schema_id, str) else schema_id
        if schema_id in self._away:
            self.waited.append(schema_id)
            waits()
            await self._back.wait()
        if schema_id not in SCHEMAS:
            raise Undecodable(f"the registry knows no schema {schema_id}")
        return parse_schema(SCHEMAS[schema_id])

    def returns(self) -> None:
        """Answer for every id from now on."""
        self._back.set()
