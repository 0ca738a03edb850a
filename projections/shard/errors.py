"""Errors of a shard's file, each with its remedy. They follow from SQLite's error code, never from its message."""

from __future__ import annotations

import errno
import logging
import math
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from projections.encrypted_files import is_clear, key_of, open_database, sqlite3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


log = logging.getLogger("mnemolog.shard")
_reports: dict[Path, Callable[[ShardDamaged], object]] = {}
_STEPS_BETWEEN_CHECKS: Final = 10_000
"""The number of steps of SQLite's virtual machine between two checks of the time."""


class ShardDamaged(Exception):
    """The shard's file cannot be read: whoever opens it next sets it aside and folds it anew from the log."""

    def __init__(self, path: Path, fault: Exception) -> None:
        super().__init__(
            f"{path}: {fault}; the shard is damaged, and is folded anew from the log, which has everything: ask again "
            "in a moment, and if this happens often, look at the system's log for its disk"
        )
        self.path = path


class ShardUnavailable(Exception):
    """The shard's file cannot be used now; nothing was folded, and folding goes on when it can."""


class ShardBusy(ShardUnavailable):
    """Another program holds the shard's file: end it."""


_SHARED_MEMORY_SIZE: Final = 4_874
"""SQLITE_IOERR_SHMSIZE, which SQLCipher's module does not define: no space for the shared memory of the log."""
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "free space on its disk",
    sqlite3.SQLITE_BUSY: "end the other program that has it open",
    sqlite3.SQLITE_LOCKED: "end the other program that has it open",
    sqlite3.SQLITE_READONLY: "make it and its folder writable for this user",
    sqlite3.SQLITE_PERM: "make it and its folder writable for this user",
    sqlite3.SQLITE_CANTOPEN: "make it and its folder readable and writable for this user",
    sqlite3.SQLITE_IOERR: "look at the system's log for its disk, which does not read or write it",
}
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def trouble(path: Path, error: sqlite3.Error) -> ShardUnavailable | ShardDamaged:
    """Return the error that states the remedy for a failure of SQLite.

    After SQLCipher has found a damaged page, its connection gives other codes, such as that of a read-only file.
    """
    if (known := _unavailable(path, error, "folding goes on by itself")) is not None and not is_damaged(path):
        return known
    return damage(path, error)


def _unavailable(path: Path, error: sqlite3.Error, then: str) -> ShardUnavailable | None:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = sqlite3.SQLITE_FULL if code == _SHARED_MEMORY_SIZE else code & 0xFF
    if (advice := _ADVICE.get(code)) is None:
        return None
    return (ShardBusy if code in _BUSY else ShardUnavailable)(f"{path}: {error}; {advice}, and {then}")


@contextmanager
def advise_on_failure(path: Path) -> Iterator[None]:
    """Raise ShardUnavailable if a file in the shards' folder cannot be written: the caller may try again."""
    try:
        yield
    except OSError as error:
        advice = "free space on its disk" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "look at its disk"
        raise ShardUnavailable(f"{path} cannot be written: {error.strerror}; {advice}, and do it again") from error
    except sqlite3.Error as error:
        if (known := _unavailable(path, error, "do it again")) is None:
            raise
        raise known from error


@contextmanager
def damage_reported(folder: Path, report: Callable[[ShardDamaged], object]) -> Iterator[None]:
    """Report each damage that this process finds in a file below a folder, while the block lasts.

    `report` is called in the thread that found it: many places and short-lived threads open these files.
    """
    _reports[folder.resolve()] = report
    try:
        yield
    finally:
        del _reports[folder.resolve()]


def damage(path: Path, error: Exception) -> ShardDamaged:
    """Mark a file that cannot be read, report it, and return the error that states what happens to it.

    A mark is needed because a later query may be the first to find the damage, while the connection is still open.
    """
    with suppress(OSError):
        _mark(path).touch()
    found = ShardDamaged(path, error)
    for folder in path.resolve().parents:
        if (report := _reports.get(folder)) is not None:
            report(found)
    return found


def is_damaged(path: Path) -> bool:
    """Return whether a file is marked as damaged."""
    return _mark(path).exists()


def set_aside(path: Path) -> None:
    """Rename a damaged file, so that it can be examined later. It must not be open anywhere."""
    log.warning("shard %s is damaged: it is kept as %s, and folded anew from the log", path, _aside(path).name)
    for name in (f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    if path.exists():
        path.replace(_aside(path))
    _mark(path).unlink(missing_ok=True)


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}-is-damaged")


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def find_damaged(folder: Path, seconds: float = math.inf) -> list[Path]:
    """Check the shards in a generation's folder; mark and return those that are damaged.

    A file that cannot be checked now, or not within `seconds` altogether, does not count as damaged.
    """
    until = time.monotonic() + seconds
    return [path for path in sorted(folder.glob("*.sqlite")) if is_damaged(path) or _fails_check(path, until)]


def _fails_check(path: Path, until: float) -> bool:
    if is_clear(path) is (key_of(path) is not None):
        return False  # encrypted, and the key is unknown; or unencrypted, and folded anew at the next start
    try:
        with closing(open_database(path, "ro")) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN_CHECKS)
            verdict = str(connection.execute("pragma quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return False
        verdict = str(error)
    if verdict != "ok":
        damage(path, sqlite3.DatabaseError(verdict))
    return verdict != "ok"
