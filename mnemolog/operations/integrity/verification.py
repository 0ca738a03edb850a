"""Verification: whether the log still holds every decision as it was appended, read from the log alone.

It reads the ledger from its first record, computes each partition's head, and follows the links of each user's
decisions. A head that was printed earlier and kept elsewhere proves that nothing is missing up to it, whatever has
happened to this machine since.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemolog.log.connection import opened_log
from mnemolog.log.sealing import SHARDS, given_keys
from mnemolog.operations.erasing.receipts import Receipts, is_signed
from mnemolog.operations.generations import Generations
from projections.encrypted_files import sqlite3, unlock
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.shard.rows.damage import EXCHANGED, PARTITION, Damage, first_gap
from projections.shard.tables import VERSION, connect_to_read, name_of
from projections.state.linked_histories import LinkedHistories
from schemas import codec
from schemas.identity import InvalidOwner, Owner
from schemas.log import UnknownTopic
from schemas.messages.chain import NO_HEAD, head_after, is_replaced_rightly
from schemas.messages.decision import Decision
from schemas.messages.erasure import EraseUser
from schemas.topics import GLOBALS, KEYS, LEDGER, partition_of
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.log import Log, Record

READ_RECORDS: Final = 500
_HEX_HEAD: Final = 64


class NoHead(ValueError):
    """The text is no head that this installation has signed; it says why."""


@dataclass(frozen=True, slots=True)
class Head:
    """The offset up to which a partition of the ledger was read, and the hash of everything before."""

    topic: str
    partition: int
    offset: int
    head: str
    """In hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class OwnHead(Head):
    """A head that the log itself advances with each append, so that no appended record is beyond it."""


@dataclass(slots=True)
class Verified:
    """The result of a verification: the counts, and the damage."""

    records: int = 0
    linked: int = 0
    """The decisions that are linked to the ones before them; earlier versions wrote no links."""
    erased: int = 0
    """The records whose key was destroyed: the heads cover them, but their users can no longer be determined."""
    damage: list[Damage] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        damage = [{**asdict(one), "detail": str(one)} for one in self.damage]
        counts = {"records": self.records, "linked": self.linked, "erased": self.erased}
        return {"ok": not self.damage, **counts, "damage": damage, "heads": [asdict(one) for one in self.heads]}


@dataclass(frozen=True, slots=True)
class OpenedLedger:
    """The unsealed log, and the receipts that sign heads."""

    log: Log
    receipts: Receipts


@asynccontextmanager
async def opened_ledger(settings: Settings) -> AsyncIterator[OpenedLedger | None]:
    """Open the configured log for reading; None if there is none yet.

    Raises LogError, KeysUnusable, KeysMissing, MasterKeyUnknown.
    """
    if settings.is_embedded and not (settings.data_dir.resolve() / "log" / LOG_FILE).exists():
        yield None
        return
    async with opened_log(settings) as inner:
        try:
            await inner.partitions(KEYS.name)
        except UnknownTopic:
            yield None
            return
        keys = UserKeys(inner, given_keys(settings))
        await keys.follow()
        unlock(settings.data_dir, keys.ring.derive(SHARDS))
        replacements = None if settings.is_embedded else Replacements(inner, keys)
        receipts = Receipts(settings.data_dir, keys.ring.derive("receipts"))
        yield OpenedLedger(SealedLog(inner, keys, seals=False, replacements=replacements), receipts)


async def known_heads(settings: Settings) -> list[Head]:
    """Return the heads that this machine knows: of its shards, and of the embedded log's open file."""
    found = heads_of_shards(settings.data_dir.resolve())
    if settings.is_embedded:
        inner = SqliteLog.opened(settings.data_dir.resolve() / "log")
        places = [(GLOBALS.name, 0), *((LEDGER.name, p) for p in range(await inner.partitions(LEDGER.name)))]
        for place in places:
            reached, head, end = inner.kept_head(*place)
            if end or reached:
                found.append(OwnHead(*place, reached, head.hex()))
    return found


class Verification:
    """Reads the whole ledger, and compares it with its known heads."""

    def __init__(self, log: Log, known: Sequence[Head] = (), user: Owner | None = None) -> None:
        """Take the unsealed log, and the heads to compare with; with a user, read only that user's partition."""
        self._log = log
        self._known = known
        self._user = user

    async def places(self) -> list[tuple[str, int]]:
        """Return the partitions to read. Raises LogError."""
        number = await self._log.partitions(LEDGER.name)
        if self._user is None:
            return [(GLOBALS.name, 0), *((LEDGER.name, partition) for partition in range(number))]
        if self._user.is_global:
            return [(GLOBALS.name, 0)]
        return [(LEDGER.name, partition_of(self._user.key, number))]

    async def total(self) -> int:
        """Return the number of records to read. Raises LogError."""
        return sum([await self._log.end(*place) for place in await self.places()])

    async def run(self, progress: Callable[[int], None] = lambda _: None) -> Verified:
        """Read everything; `progress` is called with the number of records of each step. Raises LogError."""
        verified = Verified()
        for place in await self.places():
            await _Reading(self._log, *place, [one for one in self._known if (one.topic, one.partition) == place]).run(
                verified, progress
            )
        if self._user is not None:
            named = (PARTITION, name_of(self._user))
            verified.damage = [one for one in verified.damage if one.user in named]
        return verified


class _Reading:
    """The verification of one partition."""

    def __init__(self, log: Log, topic: str, partition: int, known: Sequence[Head]) -> None:
        self._log = log
        self._topic = topic
        self._partition = partition
        self._known: dict[int, set[str]] = {}
        for one in known:
            self._known.setdefault(one.offset, set()).add(one.head)
        self._own_end = min((one.offset for one in known if isinstance(one, OwnHead)), default=None)
        self._histories = LinkedHistories()
        self._damage: dict[str, Damage] = {}
        self._head = NO_HEAD

    async def run(self, verified: Verified, progress: Callable[[int], None]) -> None:
        start, end = 0, await self._log.end(self._topic, self._partition)
        while start < end and (records := await self._log.read(self._topic, self._partition, start, READ_RECORDS)):
            records = [record for record in records if record.position.offset < end]
            if not records:
                break
            if (gap := first_gap(start, records)) is not None:
                self._note(PARTITION, *gap)
            for record in records:
                verified.erased += record.is_erased
                self._read(record)
            verified.records += len(records)
            start = records[-1].position.offset + 1
            progress(len(records))
            await asyncio.sleep(0)
        if start < end:
            self._note(PARTITION, start, f"the records from offset {start} to {end - 1} are missing")
        if self._own_end is not None and self._own_end < end:
            own = self._own_end
            what = f"the records from offset {own} to {end - 1} were not appended by mnemolog: its head ends before"
            self._note(PARTITION, own, what)
        for offset in self._known:
            if offset > end:
                self._note(PARTITION, end, f"a head was kept at offset {offset}, and the log ends at {end}")
        verified.linked += self._histories.linked
        verified.damage += self._damage.values()
        verified.heads.append(Head(self._topic, self._partition, start, self._head.hex()))

    def _read(self, record: Record) -> None:
        self._head = head_after(self._head, [record])
        offset = record.position.offset
        for head in self._known.get(offset + 1, ()):
            if head != self._head.hex():
                self._note(PARTITION, offset, "the records up to here are not those of the head that was kept")
        if not record.is_erased:
            try:
                self._follow(record, codec.decode_as(record.value, Decision))
            except codec.UnknownSchema:
                raise
            except codec.Undecodable as error:
                if self._histories.linked:
                    self._note(_user_of(record), offset, f"the record cannot be read ({error})")

    def _follow(self, record: Record, decision: Decision) -> None:
        name = name_of(decision.envelope.owner)
        wrong = self._histories.add(decision, record.value)
        if not is_replaced_rightly(record, decision) and decision.previous is not None:
            wrong = EXCHANGED
        elif record.key is not None and record.key != decision.envelope.owner.key:
            wrong = "its key names another user"
        if wrong is not None:
            self._note(name, record.position.offset, wrong)
        elif decision.item_type == EraseUser.__name__:
            self._damage.pop(name, None)

    def _note(self, user: str, offset: int, what: str) -> None:
        self._damage.setdefault(user, Damage(user, self._topic, self._partition, offset, what))


def _user_of(record: Record) -> str:
    try:
        return name_of(Owner.of_key(record.key or b""))
    except InvalidOwner:
        return PARTITION


def heads_of_shards(data_dir: Path) -> list[Head]:
    """Return the heads up to which the shards of a data directory were folded, without those that cannot be read."""
    found = []
    for path in sorted(Generations(data_dir).active_folder.glob("*.sqlite")):
        with suppress(ShardDamaged, ShardUnavailable, sqlite3.Error), closing(connect_to_read(path)) as connection:
            if connection.execute("pragma user_version").fetchone() == (VERSION,):
                found += [
                    Head(topic.removeprefix("head "), _partition_of(path), reached, mark.hex())
                    for topic, reached, mark in connection.execute("select topic, next, mark from offsets").fetchall()
                    if topic.startswith("head ") and reached
                ]
    return found


def _partition_of(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def signed_heads(found: Verified, receipts: Receipts) -> dict[str, Any]:
    """Return the heads of a log for safekeeping, with the signature and the key that verifies it."""
    return sign_heads([one for one in found.heads if one.offset], receipts)


def sign_heads(heads: Sequence[Head], receipts: Receipts, **more: str) -> dict[str, Any]:
    """Return heads, and further fields, with the signature and the key that verifies it."""
    return receipts.sign({"heads": [asdict(one) for one in heads], **more, "public_key": receipts.public_key})


def heads_of(kept: Any, public_key: str) -> list[Head]:  # noqa: ANN401 - any JSON
    """Return the heads from the output of `mnemolog head`. Raises NoHead if they were not signed with the key."""
    if not isinstance(kept, dict) or not is_signed(kept, public_key):
        raise NoHead("the heads were not signed by this installation (or --public-key), or were changed since")
    try:
        heads = [Head(**one) for one in kept["heads"]]
    except (KeyError, TypeError) as error:
        raise NoHead("these are no heads: keep what `mnemolog head --json` prints, as it is") from error
    if not all(isinstance(one.offset, int) and len(one.head) == _HEX_HEAD for one in heads):
        raise NoHead("a head has an offset and 64 hexadecimal digits")
    return heads
