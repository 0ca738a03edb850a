"""Whether the parts of a data directory belong together: a log, the shards folded from it, and the keys of both.

Otherwise, a failed mount, or half of a restored copy, would silently begin a second history.
"""

from __future__ import annotations

from contextlib import closing, suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from mnemolog.log.private_files import FOLDER_MODE
from mnemolog.log.sealing import SHARDS, read_user_keys
from mnemolog.operations.erasing.receipts import LIST_FILE
from mnemolog.operations.generations import Generations
from projections.durable_files import replace_file
from projections.encrypted_files import is_clear, open_database, sqlite3, unlock
from schemas.log import LogError, UnknownTopic
from schemas.topics import KEYS
from streams.sealing.key_files import FILE as KEY_FILE
from streams.sealing.key_files import FOLDER as KEYS_FOLDER
from streams.transports.directory_lock import read_note
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.read_only_log import NotWritten, ReadOnlyLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.log import Log

IDENTITY_FILE: Final = "of-log"
"""The file next to the generations with the identity of the log that they were folded from."""
RESTORING: Final = "restoring"
"""The folder in a data directory where a restoration writes everything, and which it removes at its end."""
RESTORED_IN_PART: Final = (
    "a restoration into {data} goes on, or was cut off ({restoring} is there): wait for it, or give the same "
    "`mnemolog backup restore` again; or, to give it up, remove that folder, and log/ and shards/ beside it; nothing "
    "was changed"
)
KEYS_IN_KEYS: Final = (
    "{nested} is a copy of keys in the folder of the keys, as `cp` makes one of a folder that is there already: it may "
    "be newer, and list erasures that {keys} does not: put what is newest into {keys}, and remove {nested}; nothing "
    "was changed"
)
ACCEPT: Final = (
    "or, to go on with the log as it is, remove {shards}: memories are folded anew from the log, and what it lacks is "
    "gone; nothing was changed"
)
MISSING: Final = (
    "the shards in {shards} were folded from a log that is not in {log}: mount it, put log/ back from a copy, or "
    "`mnemolog backup restore` one into another folder; or, to begin anew with nothing, remove {shards}; nothing was "
    "changed"
)
SHORTER: Final = (
    "the log in {log} ends before its shards: a partition of {topic} ends at {end}, and a shard has folded it up to "
    "{folded}, so the log is an older copy, or was cut off: put the newer one back; "
) + ACCEPT
OTHER: Final = (
    "the shards in {shards} were folded from another log than that in {log}: put back what belongs together; "
) + ACCEPT


class FolderMismatch(LogError):
    """What lies in the data directory does not belong together; the text says what to do. Nothing was changed."""


async def check_folder(settings: Settings) -> None:
    """Raise FolderMismatch if the log of a data directory does not belong to its shards, or is shorter than they are.

    The same applies if a restoration is incomplete, or if the folder of the keys contains a copy of keys. The log is
    checked on the embedded engine, while no process serves the directory. Nothing is changed, not even a file's time.
    Raises KeysUnusable, KeysMissing or MasterKeyUnknown if the keys are not the log's, and LogError for a damaged log.
    """
    folder = settings.data_dir.resolve()
    if (restoring := folder / RESTORING).exists():
        raise FolderMismatch(RESTORED_IN_PART.format(data=folder, restoring=restoring))
    check_keys(folder)
    if not settings.is_embedded or read_note(folder / "log") is not None:
        return
    files = Generations(folder).active_files
    path = folder / "log" / LOG_FILE
    places = {"shards": str(folder / "shards"), "log": str(path.parent)}
    if not path.exists():
        if files:
            raise FolderMismatch(MISSING.format(**places))
        return
    with ReadOnlyLog.still(path) as log:
        has_key = await _unlocked(settings, log)
        note = folder / "shards" / IDENTITY_FILE
        identity = log.state.identity
        is_known = identity is not None and note.exists() and not _are_of_another(note, identity)
        # If the log is known to be theirs, shards that are not databases are damaged, and folded anew.
        if not has_key and not is_known and any(is_clear(file) is False for file in files):
            raise FolderMismatch(MISSING.format(**places))
        if files and _are_of_another(note, log.state.identity):
            raise FolderMismatch(OTHER.format(**places))
        if (shorter := await _shorter(files, log)) is not None:
            raise FolderMismatch(SHORTER.format(**places, **shorter))


def check_keys(folder: Path) -> None:
    """Raise FolderMismatch if the folder of the keys contains a copy of keys."""
    keys = folder / KEYS_FOLDER
    for nested in sorted(keys.glob("[!.]*/")):  # a volume of Kubernetes has a folder with a dot
        if any((nested / name).exists() for name in (KEY_FILE, LIST_FILE)):
            raise FolderMismatch(KEYS_IN_KEYS.format(nested=nested, keys=keys))


def mark_shards(settings: Settings, log: Log) -> None:
    """Record next to the shards which log they are folded from, after they were checked. Raises OSError."""
    if isinstance(log, SqliteLog) and log.identity is not None:
        path = settings.data_dir.resolve() / "shards" / IDENTITY_FILE
        if not path.exists() or _are_of_another(path, log.identity):
            path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            replace_file(path, log.identity.encode("ascii"))


async def _unlocked(settings: Settings, log: ReadOnlyLog) -> bool:
    """Unlock the shards with the log's keys; return whether it has any."""
    try:
        await log.partitions(KEYS.name)
    except UnknownTopic:
        return False
    with suppress(NotWritten):  # a destroyed key is on the topic again, which a worker corrects
        keys = await read_user_keys(settings, log)
        if (key := keys.ring.derive(SHARDS)) is not None:
            unlock(settings.data_dir, key)
        return key is not None
    return True


def _are_of_another(path: Path, identity: str | None) -> bool:
    """Return whether a file names another log; older versions wrote no file, and gave logs no identity."""
    return identity is not None and path.exists() and path.read_text("ascii", "replace").strip() != identity


async def _shorter(files: Sequence[Path], log: ReadOnlyLog) -> dict[str, object] | None:
    """Return where the log ends before the position that shards have folded; None if it is long enough.

    Exchanged files are not a sign of a short log, since each is folded anew. Therefore the files are compared in the
    order of their lengths.
    """
    by_topic: dict[str, list[int]] = {}
    for file in files:
        for topic, folded in _folded(file):
            by_topic.setdefault(topic, []).append(folded)
    for topic, reached in by_topic.items():
        try:
            ends = [await log.end(topic, partition) for partition in range(await log.partitions(topic))]
        except UnknownTopic:
            ends = []
        pairs = zip_longest(sorted(reached, reverse=True), sorted(ends, reverse=True), fillvalue=0)
        for folded, end in pairs:
            if folded > end:
                return {"topic": topic, "end": end, "folded": folded}
    return None


def _folded(file: Path) -> Sequence[tuple[str, int]]:
    """Return the folded offset of each topic in a shard; none if it cannot be read, as it is then folded anew."""
    try:
        with closing(open_database(file, "still")) as connection:
            rows = connection.execute("select topic, next from offsets").fetchall()
    except sqlite3.Error:
        return ()
    return [(topic, folded) for topic, folded in rows if topic.startswith("mnemolog.")]
