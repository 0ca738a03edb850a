"""The proof of an erasure: everything that a remaining key decrypts is read, and must contain nothing of the person.

A search for words in unencrypted data gives the same result for an encrypted log before and after an erasure. This
search reads as the installation itself would, and as a control, counts the records of a user who was not erased.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemolog.diagnostics.residue import NothingToSearch, Spellings
from mnemolog.log.connection import opened_log
from mnemolog.log.sealing import SHARDS, given_keys
from mnemolog.operations.erasing.receipts import Receipts, is_signed
from projections.encrypted_files import open_database, unlock
from schemas.identity import DEFAULT_TENANT, SYSTEM_TENANT, InvalidOwner, Owner
from schemas.instant import read_instant
from schemas.log import Position, UnknownTopic
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS, KEYS, LEDGER
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.log import Record

READ_RECORDS: Final = 500
_OF_USERS: Final = (*INPUTS, INBOX, LEDGER, DEAD_LETTERS)


class NoReceipt(ValueError):
    """What was given is no receipt of this installation, of a user; the text says what is wrong."""


@dataclass(slots=True)
class Proof:
    """The remains of an erased person that were found, and the control: the same search for another user."""

    found: list[dict[str, str]] = field(default_factory=list)
    """The findings, each with `where` and `what`, but never a word."""
    opened: int = 0
    """The number of records of all users that were decrypted and read."""
    control: dict[str, Any] | None = None
    """A user who was not erased, and the number of that user's records; None if there is no such user."""

    def take(self, where: str, what: str) -> None:
        """Note a finding."""
        self.found.append({"where": where, "what": what})


async def prove_erased(settings: Settings, receipt: Mapping[str, Any], words: Iterable[str] = ()) -> Proof:
    """Search everything that a remaining key decrypts for the person of a receipt, and for words; return the findings.

    On the embedded engine, no worker may run. Raises NoReceipt, NothingToSearch, TooShort, LogError, OSError.
    """
    if settings.is_embedded and not (settings.data_dir.resolve() / "log" / LOG_FILE).exists():
        raise NothingToSearch(f"there is no log in {settings.data_dir.resolve()} to search: say which by --data")
    spellings = Spellings(words)
    async with opened_log(settings) as log:
        keys = UserKeys(log, given_keys(settings))
        try:
            await keys.follow()
        except UnknownTopic as error:
            raise NothingToSearch(f"the log has no topic {KEYS.name}: no worker has served it yet") from error
        owner = _owner_of(settings, receipt, keys.ring.derive("receipts"))
        unlock(settings.data_dir, keys.ring.derive(SHARDS))
        proof = Proof()
        for key_id in receipt.get("keys") or []:
            if not keys.ring.is_destroyed(bytes.fromhex(key_id)):
                proof.take(KEYS.name, f"the data key {key_id}, which opens everything before the erasure")
        replacements = None if settings.is_embedded else Replacements(log, keys)
        await _read_log(SealedLog(log, keys, replacements=replacements), owner, receipt, spellings, proof)
    for where, line in await asyncio.to_thread(lambda: list(_in_shards(settings.data_dir / "shards", spellings))):
        proof.take(where, f"the word of line {line}")
    return proof


def _owner_of(settings: Settings, receipt: Mapping[str, Any], secret: bytes | None) -> Owner:
    """Return the owner in a receipt. Raises NoReceipt."""
    receipts = Receipts(settings.data_dir, secret)
    listed = receipts.find(str(receipt.get("receipt_id")))
    if "memory_id" in receipt:
        raise NoReceipt("it is the receipt of a memory: give one of a user")
    public_keys = {receipts.public_key, listed.public_key if listed is not None else None} - {None}
    if not any(is_signed(dict(receipt), str(key)) for key in public_keys):
        raise NoReceipt("it was not signed by this installation, or was changed since")
    return Owner(listed.tenant if listed is not None else DEFAULT_TENANT, str(receipt["user"]))


async def _read_log(
    log: SealedLog, owner: Owner, receipt: Mapping[str, Any], spellings: Spellings, proof: Proof
) -> None:
    erased_at = read_instant(receipt["erased_at"])
    cuts = {(at.topic, at.partition): at.offset for at in map(Position.of, receipt["positions"])}
    others: Counter[bytes] = Counter()
    for topic in _OF_USERS:
        for partition in range(await log.partitions(topic.name)):
            async for record in _records(log, topic.name, partition):
                proof.opened += 1
                is_own = record.key == owner.key
                if not is_own:
                    others[record.key or b""] += 1
                elif _is_before(record, cuts, erased_at):
                    proof.take(str(record.position), "a record of this user from before the erasure")
                    continue
                else:
                    continue  # of a user who returned under the same id
                for line, _ in sorted(spellings.find(record.value)):
                    proof.take(str(record.position), f"the word of line {line}, in a record of somebody else")
    named = ((_known(key), count) for key, count in others.most_common())
    proof.control = next(({"user": user, "records": count} for user, count in named if user is not None), None)


async def _records(log: SealedLog, topic: str, partition: int) -> AsyncIterator[Record]:
    start = await log.earliest(topic, partition)
    while records := await log.read(topic, partition, start, READ_RECORDS):
        for record in records:
            if not record.is_erased:
                yield record
        start = records[-1].position.offset + 1


def _is_before(record: Record, cuts: Mapping[tuple[str, int], int], erased_at: datetime) -> bool:
    """Return whether a record of an erased user precedes the cut, or without a cut, the erasure itself."""
    place = record.position
    cut = cuts.get((place.topic, place.partition))
    return record.recorded_at < erased_at if cut is None else place.offset < cut


def _known(key: bytes) -> str | None:
    try:
        owner = Owner.of_key(key)
    except InvalidOwner:
        return None
    return None if owner.is_global or owner.tenant == SYSTEM_TENANT else owner.user_id


def _in_shards(folder: Path, spellings: Spellings) -> Iterator[tuple[str, int]]:
    """Yield the words that the decrypted shards contain, by their lines."""
    if not spellings.longest:
        return
    for path in sorted(folder.glob("**/*.sqlite")):
        with closing(open_database(path, "ro")) as connection:
            tables = connection.execute("select name from sqlite_master where type='table'").fetchall()
            seen: set[int] = set()
            for (table,) in tables:
                for row in connection.execute(f'select * from "{table}"'):  # noqa: S608 - a name of our own
                    data = b"\0".join(one if isinstance(one, bytes) else str(one).encode() for one in row)
                    seen |= {line for line, _ in spellings.find(data)}
        yield from ((f"{path.relative_to(folder.parent)}, opened", line) for line in sorted(seen))
