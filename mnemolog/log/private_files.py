"""Private files: only mnemolog's user can open its files, including those that an older version left open to others."""

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
"""The names that mnemolog creates in a data directory. Everything else there belongs to others, and is not touched."""


def create_privately() -> None:
    """Make this process, and those that it starts, create files and folders that only its user can open.

    The umask also covers the extra files that SQLite creates for a database, with the database's mode.
    """
    os.umask(UMASK)


def find_open(folder: Path) -> list[Path]:
    """Return the paths that other users can open: the data directory, and the files of mnemolog in it.

    Links are not followed. The directory itself counts only if this user owns it and it contains nothing but
    mnemolog's files: the root of a volume belongs to the cluster, but the files in it are closed nevertheless.
    """
    return [path for path in _ours(folder) if _is_open(path)]


def close_to_others(folder: Path) -> int:
    """Remove the permissions of others from the paths of `find_open`; return their number. Raises OSError."""
    found = find_open(folder)
    closed = 0
    for path in found:
        try:
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
        except FileNotFoundError:
            continue  # an extra file of a database, removed with its last reader
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
