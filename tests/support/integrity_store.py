"""mnemolog as a store for `agent-memory-integrity`, which edits its records directly and then checks what it reports.

The edits need only what an attacker has who can write the log but has no key. Where records are in clear, a forged
record is as good as that allows: it has the next version, and is linked to the record before it.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from abc import abstractmethod
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import orjson
from agmi.adapters.base import MemoryAdapter
from agmi.adapters.base import Record as Edited
from agmi.check import verdict
from contract.front_door import front_door
from support.forked_program import mnemolog
from support.mnemolog_up import environment

from schemas import codec
from schemas.messages.chain import hash_of
from schemas.messages.decision import Decision
from schemas.topics import LEDGER, partition_of
from streams.transports.sqlite.file import OFFSET_BITS, OFFSET_MASK
from streams.transports.sqlite.rows import checksum_of

PARTITIONS: Final = 2
OTHER: Final = next(name for name in map(str, range(99)) if partition_of(f"default/{name}".encode(), PARTITIONS) == 0)
ANN: Final = next(
    name for name in map(str, range(99)) if name != OTHER and partition_of(f"default/{name}".encode(), PARTITIONS) == 0
)
SAID: Final = ("My name is Ann.", "I live in Berlin.", "I am allergic to peanuts.", "I like tea.", "I row on Sundays.")
SAID_BY_OTHER: Final = (
    "I like milk.",
    "I keep a quokka.",
    "My sister is Zara.",
    "I play the cello.",
    "I work at night.",
)
_CHANGED: Final = {b"Ann": b"Eve", b"Berlin": b"Lisbon", b"peanuts": b"walnuts", b"tea": b"gin", b"row": b"box"}
"""Replacements, by words of the same length."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as the engine stores it, without its offset."""

    at_ms: int
    key: bytes | None
    value: bytes
    headers: bytes | None


class IntegrityStore(MemoryAdapter):  # type: ignore[misc]  # the package has no types
    """The part that both engines share: Ann's decisions are the store, another user's are the second context."""

    name = "mnemolog"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    detection_point = "audit"
    encryption = "on"
    keeps_heads = False
    """Whether a signed head is stored where an editor of the log cannot reach it."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self.verify_detail: str | None = None
        self.others: range = range(0)
        """The offsets of the other user's decisions."""

    # -- what the engine supplies

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings of the worker, without its folder and the settings that all tests share."""

    @abstractmethod
    def stored(self) -> dict[int, Stored]:
        """Return the stored records of the partition, by offset."""

    @abstractmethod
    def put(self, offset: int, record: Stored | None) -> None:
        """Store a record at an offset, or remove it if None; a change at the end moves the end."""

    # -- the store, through its own interfaces

    def setup(self) -> None:
        self.folder = Path(mkdtemp(prefix="edited-"))
        self.data = self.folder / "var"
        self.heads = self.folder / "elsewhere"
        self.heads.mkdir()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def seed(self, n: int) -> None:
        self._say(ANN, *SAID[:n])

    def seed_other(self, n: int) -> None:
        start = max(self.stored()) + 1
        self._say(OTHER, *SAID_BY_OTHER[:n])
        self.others = range(start, start + n)

    def append_genuine(self) -> None:
        self._say(ANN, "I have a canoe.")

    def _say(self, user: str, *texts: str) -> None:
        async def say() -> None:
            async with self.door() as door:
                for text in texts:
                    await door.remember(text, user)

        asyncio.run(say())

    def door(self) -> Any:
        own = {"encryption": self.encryption, "decay_policy": "off", "partitions": PARTITIONS}
        heads = {"heads_to": str(self.heads)} if self.keeps_heads else {}
        return front_door(self.data, **(own | heads | self.settings))

    async def refusal(self) -> str | None:
        """Return why a worker does not answer for Ann, None if it does."""
        async with self.door() as door:
            answer = await door.get("/v1/memories", user_id=ANN)
        assert answer.status_code in {200, 503}, answer.text
        return None if answer.status_code == 200 else str(answer.json()["detail"])

    def is_served_anew(self) -> bool:
        """Return whether a worker that folds the log from its beginning answers for Ann."""
        shutil.rmtree(self.data / "shards", ignore_errors=True)
        self.verify_detail = asyncio.run(self.refusal())
        return self.verify_detail is None

    def reload(self) -> None:
        """Do nothing, because nothing is open."""

    def verify(self) -> bool:
        """Return whether `mnemolog verify` finds no damage."""
        against = ["--against", str(self.heads)] if self.keeps_heads else []
        found = orjson.loads(self._run("verify", *against))
        self.verify_detail = found["damage"][0]["detail"] if found["damage"] else None
        return bool(found["ok"])

    def _run(self, *command: str) -> bytes:
        given = {f"MNEMOLOG_{name.upper()}": str(value) for name, value in self.settings.items()}
        done = mnemolog(*command, "--json", "--data", str(self.data), environment=environment(**given))
        assert done.returncode in {0, 1}, done.stderr
        assert done.stdout, done.stderr
        return done.stdout

    # -- the records, edited directly

    def read_all_raw(self) -> list[Edited]:
        return [_edited(*one) for one in sorted(self.stored().items()) if one[0] not in self.others]

    def read_other_raw(self) -> list[Edited]:
        return [_edited(*one) for one in sorted(self.stored().items()) if one[0] in self.others]

    def write_raw(self, record: Edited) -> None:
        there = self.stored().get(record.seq)
        written = Stored(**record.fields)
        self.put(record.seq, written if there is None else replace(written, at_ms=there.at_ms))

    def delete_raw(self, seq: int) -> None:
        self.put(seq, None)

    def replay_onto(self, victim_seq: int, donor: Edited) -> None:
        self.put(victim_seq, replace(Stored(**donor.fields), at_ms=self.stored()[victim_seq].at_ms))

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {"at_ms": self.stored()[seq].at_ms}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        assert meta["agmi_meta_tampered"]
        record = self.stored()[seq]
        self.put(seq, replace(record, at_ms=record.at_ms + 1))

    def mutate_payload(self, record: Edited) -> Edited:
        value = record.fields["value"]
        record.fields["value"] = _reworded(value) or value[:-20] + bytes([value[-20] ^ 1]) + value[-19:]
        return record

    def forge_record(self, template: Edited) -> Edited:
        value = template.fields["value"]
        if _reworded(value) is None:  # sealed: only its first bytes can be guessed
            forged = value[:22] + bytes(len(value) - 22)
        else:
            last = codec.decode_as(value, Decision)
            claimed = codec.decode_as(_reworded(value) or b"", Decision)
            forged = codec.encode(
                replace(claimed, version=last.version + 1, previous=hash_of(value), item_id=f"{last.item_id[:-1]}0")
            )
        return Edited(seq=template.seq + 1, fields=template.fields | {"value": forged})

    def identity_of(self, record: Edited) -> str:
        return str(record.seq)

    def payload_of(self, record: Edited) -> str:
        return repr((record.fields["key"], record.fields["value"], record.fields["headers"]))

    def owner_of(self, record: Edited) -> str:
        return OTHER if record.seq in self.others else ANN


class EmbeddedStore(IntegrityStore):
    """The store on the embedded engine, where the attacker has the file `log.sqlite`."""

    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def stored(self) -> dict[int, Stored]:
        with self._opened() as connection:
            rows = connection.execute(
                "select id, recorded_ms, key, value, headers from records where id between ? and ? order by id",
                (self._first(connection), self._first(connection) | OFFSET_MASK),
            ).fetchall()
        return {row[0] & OFFSET_MASK: Stored(*row[1:]) for row in rows}

    def put(self, offset: int, record: Stored | None) -> None:
        with self._opened() as connection:
            first = self._first(connection)
            if record is None:
                connection.execute("delete from records where id=?", (first + offset,))
            else:
                content = (record.key, record.value, record.headers)
                columns = (first + offset, record.at_ms, *content, checksum_of(*content))
                connection.execute("insert or replace into records values(?,?,?,?,?,?)", columns)
            end = "update partitions set next_offset=? where id=? and next_offset=?"
            number = first >> OFFSET_BITS
            given = (offset, number, offset + 1) if record is None else (offset + 1, number, offset)
            connection.execute(end, given)

    def _opened(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.data / "log" / "log.sqlite", isolation_level=None))

    @staticmethod
    def _first(connection: sqlite3.Connection) -> int:
        [(number,)] = connection.execute("select id from partitions where topic=? and partition=0", (LEDGER.name,))
        return int(number) << OFFSET_BITS

    def snapshot_store(self) -> Path:
        token = self.folder / "older"
        shutil.copytree(self.data, token)
        return token

    def restore_store(self, token: Path) -> None:
        shutil.rmtree(self.data)
        token.rename(self.data)


class ServedStore(EmbeddedStore):
    """The embedded engine with another check: a worker folds the log from its beginning, and is asked for memories."""

    detection_point = "read"

    def verify(self) -> bool:
        """Return whether the worker answers for Ann."""
        return self.is_served_anew()


def judged(store: IntegrityStore, edit: type) -> str:
    """Return the verdict on an edit, with the reason if there is none."""
    result = edit().run(store)
    return " ".join(filter(None, (verdict(result, store), result.guard or result.error)))


def _edited(offset: int, record: Stored) -> Edited:
    return Edited(seq=offset, fields=asdict(record))


def _reworded(value: bytes) -> bytes | None:
    """Return a record in clear with another word in it, None for a record that is sealed."""
    if not value.startswith(codec.MARKER):  # what is sealed may have the bytes of a word by chance
        return None
    for word, other in _CHANGED.items():
        if word in value:
            return value.replace(word, other)
    return None
