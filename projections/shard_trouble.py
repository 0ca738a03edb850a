"""What can be wrong with a shard's file, and what to do about each: by SQLite's error code, not by its words."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


class ShardDamaged(Exception):
    """The shard's file cannot be read: delete it, and the next start folds it again from the log."""


class ShardUnavailable(Exception):
    """The shard's file cannot be used now; nothing was folded, and folding goes on when it can."""


class ShardFull(ShardUnavailable):
    """The shard's disk is full: free space."""


class ShardBusy(ShardUnavailable):
    """Another program holds the shard's file: end it."""


class ShardReadOnly(ShardUnavailable):
    """The shard's file may not be written: give this user the right."""


class ShardDiskFails(ShardUnavailable):
    """The disk does not read or write the shard's file: look after it."""


_KINDS: Final[dict[int, tuple[type[ShardUnavailable], str]]] = {
    sqlite3.SQLITE_FULL: (ShardFull, "free space on its disk"),
    sqlite3.SQLITE_BUSY: (ShardBusy, "end the other program that has it open"),
    sqlite3.SQLITE_LOCKED: (ShardBusy, "end the other program that has it open"),
    sqlite3.SQLITE_READONLY: (ShardReadOnly, "make it and its folder writable for this user"),
    sqlite3.SQLITE_PERM: (ShardReadOnly, "make it and its folder writable for this user"),
    sqlite3.SQLITE_CANTOPEN: (ShardReadOnly, "make it and its folder readable and writable for this user"),
    sqlite3.SQLITE_IOERR: (ShardDiskFails, "look at the system's log for its disk, which does not read or write it"),
}


def trouble(path: Path, error: sqlite3.Error) -> ShardUnavailable | ShardDamaged:
    """Return the error that says what to do about a failure of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = sqlite3.SQLITE_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF
    if primary in _KINDS:
        kind, advice = _KINDS[primary]
        return kind(f"{path}: {error}; {advice}, and folding goes on by itself")
    return damage(path, error)


def damage(path: Path, error: Exception) -> ShardDamaged:
    """Return the error that says what to do about a file that cannot be read."""
    return ShardDamaged(f"{path}: {error}; delete it and start again: the log has everything")
