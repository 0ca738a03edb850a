"""Private files: only mnemolog's user can open what it writes, what an older version left open included."""

from __future__ import annotations

import logging
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger("mnemolog")
UMASK: Final = 0o077
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
FOLDER_MODE: Final = 0o700
OURS: Final = ("log", "shards", "keys", "faust", "registry.json", "registry.new")
"""What mnemolog creates in a data directory. Everything else there belongs to others, and is not touched."""


def create_privately() -> None:
    """Let this process, and those that it starts, create files and folders that only its user can open.

    SQLite creates the files beside a database by itself, with the mode of the database: the umask reaches them all.
    """
    os.umask(UMASK)


def find_open(folder: Path) -> list[Path]:
    """Return what others than its user can open: the data directory, and what mnemolog has made in it.

    Links are not followed. The directory itself counts where it is this user's and holds nothing but ours: a volume's
    root belongs to the cluster, and what lies in it is closed all the same.
    """
    return [path for path in _ours(folder) if _is_open(path)]


def close_to_others(folder: Path) -> int:
    """Take away the permissions of others from what `find_open` finds; return from how many. Raises OSError."""
    found = find_open(folder)
    closed = 0
    for path in found:
        try:
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
        except FileNotFoundError:
            continue  # a file beside a database, gone with its last reader
        closed += 1
    return closed


def close_files(folder: Path) -> None:
    """Close what an older version, or a careless copy, left open to other users of this machine; log what there was."""
    try:
        closed = close_to_others(folder)
    except OSError as error:
        log.warning("%s is open to other users and cannot be closed: %s", error.filename, error.strerror)
        return
    if closed:
        log.warning("%d files and folders in %s were open to other users: they are closed now", closed, folder)


def _ours(folder: Path) -> Iterator[Path]:
    try:
        inside = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    there = folder.stat()
    if there.st_uid == os.geteuid() and not there.st_mode & stat.S_ISVTX and inside <= set(OURS):
        yield folder
    for name in sorted(inside.intersection(OURS)):
        top = folder / name
        yield top
        if top.is_dir() and not top.is_symlink():
            for where, folders, files in os.walk(top):
                yield from (top.__class__(where, one) for one in (*folders, *files))


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return bool(mode & OTHERS) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
