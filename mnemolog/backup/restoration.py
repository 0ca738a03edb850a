"""The restoration of a log from a backup, up to a moment, with its digest: into an empty directory or new topics.

In a directory, everything is built in a subfolder, and moved into place at the end, the log last. Topics are filled in
place. While that subfolder exists, no worker starts. An interrupted restoration is run again: it then starts anew, or
continues to fill the topics from their ends. If only its last steps were missing, it completes these.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from mnemolog.backup.manifest import EMBEDDED, RECORDS, read_manifest
from mnemolog.backup.moment import ALWAYS, Moment
from mnemolog.backup.segment import read_segment
from mnemolog.backup.verification import verify_backup
from mnemolog.log.connection import brokers, close_log, kafka_security, open_log
from mnemolog.log.private_files import FOLDER_MODE
from mnemolog.log.sealing import SHARDS, read_user_keys
from mnemolog.operations.erasing.receipts import LIST_FILE
from mnemolog.operations.integrity.data_folder import RESTORING, check_keys
from projections.durable_files import replace_file, sync_folder
from projections.encrypted_files import unlock
from projections.partitions.catch_up import CatchUp
from projections.partitions.generation import Generation
from projections.shard.snapshot import ReadSnapshot
from projections.state.digest import combined
from schemas.instant import instant
from schemas.log import LogError, Position
from schemas.topics import LEDGER
from streams.sealing.key_files import FOLDER as KEYS_FOLDER
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.transports.kafka.clients import KafkaClients
from streams.transports.kafka.restored_topics import RestoredTopics
from streams.transports.sqlite.file import LOG_FILE, TopicSettings
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.restored_file import RestoredFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from mnemolog.backup.manifest import Manifest, PartitionCopy, TopicShape
    from mnemolog.settings import Settings
    from schemas.identity import Owner
    from schemas.log import Record
    from streams.transports.kafka.log import KafkaLog

Progress: TypeAlias = "Callable[[str, int], None]"
NOTE: Final = "topics"
"""The file in that folder that tells from which backup Kafka's topics are being filled."""
MADE: Final = "receipt"
"""The file in it that tells that everything is built, with the receipt."""


class RestoreRefused(LogError):
    """A backup is not restored; the text says why, and what to do."""


async def restore(
    settings: Settings,
    folder: Path,
    to: Moment | Position,
    progress: Progress = lambda *_: None,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Restore a backup into the empty data directory, or the cluster, of the settings; return a receipt.

    The keys of the log must be given, or lie in the `keys/` of the data directory. `progress` is called with the step
    and the records or bytes done. `tell` is given the receipt before the restoration counts as complete, so that the
    same command gives it again after a kill. Where this raises, nothing of an embedded log is left, unless `tell` did.
    Raises RestoreRefused, FolderMismatch, NoBackup, BackupDamaged, KeysMissing, KeysUnusable, MasterKeyUnknown,
    LogError, OSError.
    """
    data_dir = settings.data_dir.resolve()
    manifest = read_manifest(folder)
    if (manifest.engine == EMBEDDED) is not settings.is_embedded:
        advice = "unset MNEMOLOG_BROKER" if manifest.engine == EMBEDDED else "set MNEMOLOG_BROKER"
        raise RestoreRefused(
            f"{folder} is a backup of the engine {manifest.engine}, and is restored into that one: {advice}"
        )
    check_keys(data_dir)
    asked = [str(folder), _text_of(to), manifest.taken_at]
    is_new = not data_dir.exists()
    if (receipt := _made_before(data_dir, asked, settings)) is None:
        building = _begin(data_dir)
        try:
            receipt = await _made(settings, folder, to, building, progress)
        except Exception:
            _clean_up(building, is_new=is_new)
            raise
        replace_file(building / MADE, orjson.dumps([asked, receipt]))
    building = data_dir / RESTORING
    if settings.is_embedded:
        _put_in_place(building, data_dir)
    else:
        async with _opened_topics(settings) as topics:
            await _finish_topics(topics, manifest)
    try:
        tell(receipt)
    except Exception:
        _remove(building)  # the log is restored, though nobody could be told
        raise
    _remove(building)
    return receipt


def remark_on(receipt: Mapping[str, Any], to: Moment | Position) -> str | None:
    """Return a remark on a result that the requested moment may not suggest; None if there is none."""
    if isinstance(to, Position) or to.at is None:
        return None
    if to.at > datetime.fromisoformat(receipt["taken_at"]):
        return f"--to is later than the backup, which was taken at {receipt['taken_at']}: everything in it is restored"
    if receipt["newest_record_at"] is None:
        return "--to is earlier than everything in the backup: the restored log has no memories"
    return None


async def _made(
    settings: Settings, folder: Path, to: Moment | Position, building: Path, progress: Progress
) -> dict[str, Any]:
    """Build everything that can be built outside its final place; return the receipt."""
    data_dir = settings.data_dir.resolve()
    manifest = await asyncio.to_thread(verify_backup, folder, lambda size: progress("verified", size))
    moment = to if isinstance(to, Moment) else await asyncio.to_thread(_moment_of, folder, manifest, to)
    filling = _Filling(folder, manifest, moment, progress)
    if settings.is_embedded:
        (building / "log").mkdir(FOLDER_MODE, parents=True)
        await asyncio.to_thread(filling.fill_file, building / "log")
        log: SqliteLog | KafkaLog = SqliteLog.open(building / "log")
    else:
        async with _opened_topics(settings) as topics:
            await _begin_topics(topics, building / NOTE, manifest, moment)
            await filling.fill_topics(topics)
        log = await open_log(settings)
    try:
        digests = await _fold(settings, log, building, manifest, lambda records: progress("folded", records))
    finally:
        await close_log(log)
    return {
        "backup": str(folder),
        "taken_at": manifest.taken_at,
        "restored_to": _text_of(moment) or "its end",
        "newest_record_at": None if filling.newest is None else str(instant(filling.newest)),
        "records": filling.records,
        "partitions": manifest.topics[LEDGER.name].partitions,
        "ends": {place: end for place, end in filling.ends.items() if end},
        "erasures_listed": _restore_erasures(folder, manifest, data_dir),
        "digest": digests["total"],
        "data": str(data_dir),
    }


def _text_of(to: Moment | Position) -> str | None:
    """Return the moment as it is written in a command; None for the end."""
    if isinstance(to, Position):
        return str(to)
    return None if to.at is None else str(to.position or instant(to.at))


def _opened_topics(settings: Settings) -> AbstractAsyncContextManager[RestoredTopics]:
    clients = KafkaClients(brokers(settings), security=kafka_security(settings))
    return RestoredTopics.opened(clients, settings.replication_factor)


def _made_before(data_dir: Path, asked: list[str | None], settings: Settings) -> dict[str, Any] | None:
    """Return the receipt of the same restoration if it was interrupted in its last steps, which remain to be done.

    In a directory, these steps begin when the log is in place. Raises RestoreRefused if another restoration was
    requested.
    """
    path = data_dir / RESTORING / MADE
    if not path.exists() or (settings.is_embedded and not (data_dir / "log" / LOG_FILE).exists()):
        return None
    before, receipt = orjson.loads(path.read_bytes())
    if before[:2] == asked[:2] and before != asked:
        raise RestoreRefused(
            f"{data_dir} has what {before[0]} was at {before[2]}, but for the receipt, and that backup is of "
            f"{asked[2]} by now: remove what is there, all but keys/, and restore anew"
        )
    if before != asked:
        raise RestoreRefused(
            f"{data_dir} has what {before[0]} was restored to, {before[1] or 'its end'}, but for the receipt: give "
            "that command again first"
        )
    found: dict[str, Any] = receipt
    return found


def _begin(data_dir: Path) -> Path:
    """Return the folder in which to build everything; remove the remains of an interrupted restoration.

    Raises RestoreRefused.
    """
    building = data_dir / RESTORING
    if (data_dir / "log" / LOG_FILE).exists():
        _remove(building)  # versions before 0.2 could be interrupted there with everything in place
        raise RestoreRefused(
            f"{data_dir} has a log: restore into an empty data directory, and name it with --data; only keys/ may be "
            "there"
        )
    if building.exists():  # then any shards are from the interrupted restoration
        shutil.rmtree(data_dir / "shards", ignore_errors=True)
        for name in ("log", "shards"):
            shutil.rmtree(building / name, ignore_errors=True)
        (building / MADE).unlink(missing_ok=True)
    elif (data_dir / "shards").exists():
        raise RestoreRefused(f"{data_dir} has shards, of another log: restore into an empty data directory")
    building.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    return building


def _clean_up(building: Path, *, is_new: bool) -> None:
    """Remove the result of a failed restoration, unless it has begun to fill topics, which will be continued."""
    if not (building / NOTE).exists():
        shutil.rmtree(building, ignore_errors=True)
        if is_new:
            with suppress(OSError):
                building.parent.rmdir()


def _remove(building: Path) -> None:
    """Remove the folder in which everything was built, atomically."""
    if building.exists():
        rest = building.with_name("restored")
        shutil.rmtree(rest, ignore_errors=True)
        building.replace(rest)
        sync_folder(building.parent)
        shutil.rmtree(rest, ignore_errors=True)


async def _begin_topics(topics: RestoredTopics, note: Path, manifest: Manifest, moment: Moment) -> None:
    """Note which backup is restored into topics; they must not exist unless this directory has begun to fill them.

    Topics that are filled further must be those of the same backup, restored to the same moment. Raises LogError.
    """
    position = None if moment.position is None else str(moment.position)
    begun = orjson.dumps([manifest.taken_at, None if moment.at is None else str(instant(moment.at)), position])
    if _noted(note) != begun:
        await topics.require_none(manifest.topics)
        replace_file(note, begun)


def _noted(note: Path) -> bytes | None:
    return note.read_bytes() if note.exists() else None


def _moment_of(folder: Path, manifest: Manifest, position: Position) -> Moment:
    """Return the moment of a decision: its time. Raises RestoreRefused if the backup does not have it."""
    copy = manifest.of(position.topic, position.partition)
    for segment in () if copy is None else copy.segments:
        if segment.first <= position.offset < segment.end:
            for record in read_segment(folder / RECORDS, segment, position.topic, position.partition):
                if record.position == position:
                    return Moment(record.recorded_at, position)
    ends = 0 if copy is None else copy.end
    raise RestoreRefused(f"the backup has no record at {position}: that partition ends at {ends}")


class _Filling:
    """Fills a new log with the records that existed at a moment, and counts them."""

    def __init__(self, folder: Path, manifest: Manifest, moment: Moment, progress: Progress) -> None:
        self._folder = folder / RECORDS
        self._manifest = manifest
        self._moment = moment
        self._progress = progress
        self.records = 0
        self.newest: datetime | None = None
        self.ends: dict[str, int] = {}

    def fill_file(self, directory: Path) -> None:
        """Create the file of an embedded log in a directory. Raises BackupDamaged, LogError."""
        manifest = self._manifest
        topics = {
            name: TopicSettings(shape.partitions, shape.retention_s, shape.compact)
            for name, shape in manifest.topics.items()
        }
        with RestoredFile(directory, topics) as file:
            for copy in manifest.partitions:
                end = file.add(copy.topic, copy.partition, self._selected(copy), self._least(copy))
                self.ends[f"{copy.topic}:{copy.partition}"] = end
            if (
                self._moment.is_end
            ):  # of an earlier moment nobody knows what was done by then, and what is done twice counts once
                for group, topic, partition, offset in manifest.group_offsets:
                    file.add_group_offset(group, topic, partition, offset)

    async def fill_topics(self, topics: RestoredTopics) -> None:
        """Create Kafka's topics; no worker starts on them before they are finished. Raises BackupDamaged, LogError."""
        for name, shape in self._manifest.topics.items():
            await topics.create(name, shape.partitions, _retention_of(shape), compact=shape.compact)
        for copy in self._manifest.partitions:
            compact = self._manifest.topics[copy.topic].compact
            end = await topics.fill(
                copy.topic, copy.partition, self._selected(copy), copy.earliest, self._least(copy), compact=compact
            )
            self.ends[f"{copy.topic}:{copy.partition}"] = end

    def _least(self, copy: PartitionCopy) -> int:
        """Return the least offset of the next record of a partition.

        If all records are later than the moment, the earlier ones are gone. Their offsets are not used again, because
        erasures and decisions refer to them.
        """
        return copy.end if self._moment.is_end or copy.topic in ALWAYS else copy.earliest

    def _selected(self, copy: PartitionCopy) -> Iterator[Record]:
        """Yield the records of a partition that existed at the moment."""
        for segment in copy.segments:
            before = self.records
            for record in read_segment(self._folder, segment, copy.topic, copy.partition):
                if self._moment.has(record):
                    self.records += 1
                    if copy.topic not in ALWAYS and (self.newest is None or record.recorded_at > self.newest):
                        self.newest = record.recorded_at
                    yield record
            self._progress("restored", self.records - before)


async def _finish_topics(topics: RestoredTopics, manifest: Manifest) -> None:
    """Let workers start on the topics."""
    for name, shape in manifest.topics.items():
        topics.want(name, _retention_of(shape), compact=shape.compact)
    await topics.finish()


def _retention_of(shape: TopicShape) -> timedelta | None:
    return timedelta(seconds=shape.retention_s) if shape.retention_s else None


async def _fold(
    settings: Settings,
    log: SqliteLog | KafkaLog,
    building: Path,
    manifest: Manifest,
    progress: Callable[[int], None],
) -> dict[str, str]:
    """Fold the restored log into shards, and return the digests. Raises as `read_user_keys` does, and LogError."""
    keys = await read_user_keys(settings, log)
    unlock(settings.data_dir, keys.ring.derive(SHARDS))
    replacements = None if settings.is_embedded else Replacements(log, keys)
    sealed = SealedLog(log, keys, seals=False, replacements=replacements)
    folder = building / "shards" / "1"
    folder.mkdir(FOLDER_MODE, parents=True)
    count = manifest.topics[LEDGER.name].partitions
    generation = Generation(folder, sealed, count)
    parts = []
    for number in range(-1, count):
        shard = generation.open_globals() if number < 0 else generation.open(number)
        try:
            await CatchUp(shard, progress).run_in_thread()
            with ExitStack() as opened:
                snapshot = ReadSnapshot(shard.committed_file())
                opened.callback(snapshot.close)
                parts.append(await snapshot.digests(_any_owner))
        finally:
            shard.close()
    return combined(parts)


def _any_owner(_: Owner) -> bool:
    return True


def _restore_erasures(folder: Path, manifest: Manifest, data_dir: Path) -> int:
    """Add the erasures that the backup lists to those of the data directory; return the total number then listed.

    Those of the data directory come from elsewhere, and may be newer: a worker repeats them at its first start.
    """
    path = data_dir / KEYS_FOLDER / LIST_FILE
    own = path.read_bytes().splitlines() if path.exists() else []
    backed_up = [] if manifest.erasures is None else (folder / RECORDS / manifest.erasures).read_bytes().splitlines()
    ids = {_receipt_id(line) for line in own}
    lines = [*own, *(line for line in backed_up if _receipt_id(line) not in ids)]
    if len(lines) > len(own):
        path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        replace_file(path, b"".join(line + b"\n" for line in lines))
    return len(lines)


def _receipt_id(line: bytes) -> object:
    try:
        return orjson.loads(line).get("receipt_id")
    except (orjson.JSONDecodeError, AttributeError):
        return line


def _put_in_place(building: Path, data_dir: Path) -> None:
    """Move the shards and then the log into place, durably; parts already in place stay."""
    place = data_dir / "log"
    place.mkdir(FOLDER_MODE, exist_ok=True)
    for made, there in ((building / "shards", data_dir / "shards"), (building / "log" / LOG_FILE, place / LOG_FILE)):
        if made.exists():
            made.replace(there)
    sync_folder(place)
    sync_folder(data_dir)
