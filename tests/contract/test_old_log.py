"""A whole log of the previous versions of all messages: a worker folds it to the digest of the log that it was."""

from __future__ import annotations

import io
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from contract.front_door import front_door, turn

from mnemolog.operations.integrity.verification import Verification, known_heads, opened_ledger
from mnemolog.settings import from_environment
from schemas import codec
from schemas.codec import HEADER_BYTES, MARKER, MESSAGES, newest_version, released_schema, schema_fingerprint
from schemas.messages.decision import Decision
from streams.transports.sqlite import rows

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

EXPECTED = {"TurnRecorded", "SessionEnded", "CandidatesExtracted", "Decision", "RememberFact", "ForgetMemory"}
"""Of the messages that a log must have to prove something."""


async def live(door: FrontDoor) -> None:
    """Have a little of everything happen to two users, and wait until it is remembered."""
    said = ["My birthday is May 4.", "I live in Berlin.", "I love jazz."]
    for user in ("ana", "ben"):
        turns = [turn(f"{user}-{n}", text, user_id=user, agent_id="luna") for n, text in enumerate(said)]
        ended = {"type": "SessionEnded", "event_id": f"{user}-end", "user_id": user, "session_id": "s1"}
        assert (await door.post("/v1/events?wait=60", [*turns, ended])).status_code == 200
        kept, gone = [await door.remember(f"{user} likes {what}", user) for what in ("tea", "rain")]
        revised = await door.http.patch(f"/v1/memories/{kept['memory_id']}", json={"importance": 0.9})
        assert revised.status_code == 200
        for _ in range(2):  # the second time after it was restored
            assert (await door.http.delete(f"/v1/memories/{gone['memory_id']}")).status_code == 200
            assert (await door.post(f"/v1/memories/{gone['memory_id']}/restore")).status_code == 200
        assert (await door.http.delete(f"/v1/memories/{gone['memory_id']}")).status_code == 200
        reminder = {"due_at": "2090-01-01", "content": "call mum"}
        assert (await door.post(f"/v1/users/{user}/reminders", reminder)).status_code == 201
        wake = {"every_seconds": 86_400, "text": "look"}
        assert (await door.http.put(f"/v1/users/{user}/wake", json=wake)).status_code == 200
    exported = (await door.get("/v1/users/ana/export")).content
    headers = {"content-type": "application/x-ndjson"}
    imported = await door.http.post("/v1/import?user_id=eva&wait=60", content=exported, headers=headers)
    assert imported.status_code == 200, imported.text
    assert (await door.post("/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z"})).status_code == 200


def previous(data: bytes, kinds: dict[str, int]) -> bytes:
    """Return a message as the version before the newest spelt it; what is in it, too. Count its kind."""
    kind: type = type(codec.decode(data))
    kinds[kind.__name__] = kinds.get(kind.__name__, 0) + 1
    version = newest_version(kind) - 1
    plain: dict[str, Any] = fastavro.schemaless_reader(io.BytesIO(data[HEADER_BYTES:]), released_schema(kind), None)  # type: ignore[assignment]
    if kind is Decision:
        plain["events"] = [previous(event, kinds) for event in plain["events"]]
    schema = released_schema(kind, version)
    written = io.BytesIO(MARKER + schema_fingerprint(schema))
    written.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), plain)
    return written.getvalue()


def make_older(file: Path) -> dict[str, int]:
    """Write every record of a log in its previous version, without heads; return how many there are of each kind."""
    kinds: dict[str, int] = {}
    with sqlite3.connect(file) as connection:
        found = connection.execute("select id, key, value, headers from records").fetchall()
        for row_id, key, value, headers in found:
            older = previous(value, kinds)
            checksum = rows.checksum_of(key, older, headers)
            connection.execute("update records set value=?, checksum=? where id=?", (older, checksum, row_id))
        connection.execute("drop table heads")
    connection.close()
    return kinds


async def verify(folder: Path) -> tuple[int, int]:
    """Check the log against all heads; return how many of its decisions are linked, and how many there are."""
    settings = from_environment({}, data_dir=folder, partitions=2)
    async with opened_ledger(settings) as ledger:
        assert ledger is not None
        known = await known_heads(settings)
        found = await Verification(ledger.log, known).run()
    assert {(one.topic, one.partition, one.offset) for one in known if one.offset} == {
        (one.topic, one.partition, one.offset) for one in found.heads if one.offset
    }
    assert found.damage == []
    return found.linked, found.records


@pytest.mark.parametrize("is_old", [False, True], ids=["as it was", "of the previous versions"])
async def test_a_log_is_folded_to_the_same_digest(tmp_path: Path, *, is_old: bool):
    async with front_door(tmp_path / "new", encryption="off") as door:
        await live(door)
        assert (await door.post("/v1/admin/drain")).status_code == 200
        known = (await door.get("/v1/admin/digest")).json()
        shown = (await door.get("/v1/memories", user_id="ana")).json()
    shutil.copytree(tmp_path / "new" / "log", tmp_path / "old" / "log")
    if is_old:
        kinds = make_older(tmp_path / "old" / "log" / "log.sqlite")
        assert kinds.keys() >= EXPECTED
        assert {kind.__name__ for kind in MESSAGES} >= kinds.keys()
    async with front_door(tmp_path / "old") as door:
        assert (await door.get("/v1/admin/digest")).json() == known
        assert (await door.get("/v1/memories", user_id="ana")).json() == shown
        rebuilt = await door.post("/v1/admin/rebuild")
        assert rebuilt.status_code == 200, rebuilt.text
        assert (await door.get("/v1/admin/digest")).json() == known
        assert (await door.post("/v1/events?wait=60", turn("new", "I live in Rome.", user_id="ana"))).status_code == 200
        assert (await door.post("/v1/admin/drain")).status_code == 200
    linked, decisions = await verify(tmp_path / "old")
    assert 0 < linked < decisions if is_old else linked == decisions
