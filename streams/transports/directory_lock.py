"""The lock of a data directory: one process holds it, and a note in the lock file has its pid and its URL."""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Self

from schemas.log import LogLocked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOCK_FILE = "log.lock"
NOTE_BYTES = 1024  # one write of a fixed size: a reader never gets half of a new note and half of an old one
RETRY_SECONDS = 0.1
"""How long to retry taking the lock: `read_note` in another process also holds it, for an instant."""


class DirectoryLock:
    """An exclusive lock on a directory, released by `release` or with the process, however it ends."""

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor of a locked file; use `take` to create a lock."""
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, directory: Path) -> Self:
        """Lock the directory, or raise LogLocked naming the process that holds it."""
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + RETRY_SECONDS
        while not _is_locked(descriptor):
            if time.monotonic() >= until:
                os.close(descriptor)
                raise LogLocked(_refusal(directory))
            time.sleep(RETRY_SECONDS / 10)
        lock = cls(descriptor)
        lock.write_note({"pid": os.getpid()})
        return lock

    def write_note(self, note: Mapping[str, object]) -> None:
        """Replace the note that other processes read. Raises ValueError beyond NOTE_BYTES bytes of JSON."""
        if self._descriptor is None:
            raise LogLocked("the lock was released: open the log again")
        text = json.dumps(dict(note)).encode()
        if len(text) > NOTE_BYTES:
            raise ValueError(f"the note has {len(text)} bytes: at most {NOTE_BYTES} fit")
        os.pwrite(self._descriptor, text.ljust(NOTE_BYTES), 0)

    def release(self) -> None:
        """Release the lock. Safe to call twice."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_note(directory: Path) -> dict[str, object] | None:
    """Return the note of the process that holds the lock; None if no process does.

    The note alone proves nothing: it remains after its process was killed, and the pid may belong to another by now.
    """
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # released at once, with the descriptor
    except BlockingIOError:
        return _note(os.read(descriptor, NOTE_BYTES))
    finally:
        os.close(descriptor)
    return None


def _note(text: bytes) -> dict[str, object] | None:
    """Return the note; None if no live process wrote it. A process that has just taken the lock may not have yet."""
    try:
        note = json.loads(text)
    except ValueError:
        return None
    if not isinstance(note, dict) or not isinstance(pid := note.get("pid"), int):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # the process is alive, and belongs to another user
    return note


def _refusal(directory: Path) -> str:
    note = read_note(directory) or {}
    holder = f"process {note['pid']}" if "pid" in note else "another process"
    where = f" at {note['url']}" if "url" in note else ""
    return f"{holder} holds the log in {directory}: stop it, or talk to it over HTTP{where}"
