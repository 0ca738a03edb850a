"""The key file: JSON with the keys of an installation, mode 0600, read again when it changes."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import stat
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mnemolog.access.key import InvalidKey, read_key
from projections.durable_files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mnemolog.access.key import Key

LOOK_SECONDS: Final = 1.0
"""The file is checked for changes at most this often."""
WAIT_SECONDS: Final = 0.25
"""How long a request waits at most for a file that is being read; 10,000 keys take less."""
UNKNOWN_SECONDS: Final = 5.0
"""How long a request with an unknown key waits for the file, because the key may have just been created."""
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MOUNTED: Final = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO

log = logging.getLogger("mnemolog.access")


class KeyFileError(ValueError):
    """The key file cannot be used; the message says what to do."""


class KeyFile:
    """The current keys of a file; while the file cannot be read, the keys last read stay valid."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file. Raises KeyFileError."""
        self._path = path
        self._clock = clock
        self._seen = _signature(path)
        self._keys: Mapping[str, Key] = read_keys(path)
        self._looked_at = clock()
        self._trouble = ""
        self._reading: asyncio.Task[None] | None = None

    def find(self, key_id: str) -> Key | None:
        """Return the key with this id from the last read of the file; None if it is unknown or was removed."""
        return self._keys.get(key_id)

    def __len__(self) -> int:
        return len(self._keys)

    async def look(self) -> None:
        """Read the file again if it has changed.

        A thread reads it. This waits for at most WAIT_SECONDS; a slower read takes effect when it is done.
        """
        await self._wait()
        for _ in range(2):  # a change during the first read is seen too
            if self._reading is not None or self._clock() - self._looked_at < LOOK_SECONDS:
                return
            self._looked_at = self._clock()
            try:
                seen = _signature(self._path)
            except KeyFileError as error:
                self._warn(error)
                return
            if seen == self._seen:
                return
            self._reading = asyncio.create_task(self._read(seen))
            await self._wait()

    async def settle(self) -> None:
        """Wait until a running read of the file is done, at most UNKNOWN_SECONDS. Call it before refusing a key."""
        await self._wait(UNKNOWN_SECONDS)

    async def _wait(self, seconds: float = WAIT_SECONDS) -> None:
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=seconds)

    async def _read(self, seen: tuple[int, ...]) -> None:
        try:
            self._keys = await asyncio.to_thread(read_keys, self._path)
        except KeyFileError as error:
            self._warn(error)
        else:
            self._seen, self._trouble = seen, ""
            log.info("%s was read again: %d keys", self._path, len(self._keys))
        finally:
            self._reading = None

    def _warn(self, error: KeyFileError) -> None:
        if str(error) != self._trouble:
            log.warning("the keys stay as they were: %s", error)
        self._trouble = str(error)


def read_keys(path: Path) -> dict[str, Key]:
    """Return the keys of a file by their ids. Raises KeyFileError."""
    try:
        with path.open("rb") as file:
            check_mode(path, os.fstat(file.fileno()))
            content = json.loads(file.read(MAX_FILE_BYTES))
        entries = content["keys"]
    except FileNotFoundError:
        raise KeyFileError(f"{path} is not there: make it by `mnemolog keys create --tenant NAME`") from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, KeyFileError):
            raise
        raise KeyFileError(f"{path} is no file of keys: put back the last one, or make a new one") from None
    if not isinstance(entries, list):
        raise KeyFileError(f"{path} is no file of keys: `keys` must be a list")
    keys: dict[str, Key] = {}
    for place, entry in enumerate(entries):
        try:
            key = read_key(entry)
        except InvalidKey as error:
            raise KeyFileError(f"{path}, key {place}: {error}") from None
        if key.key_id in keys:
            raise KeyFileError(f"{path}: the key {key.key_id} stands there twice: remove one of them")
        keys[key.key_id] = key
    return keys


@contextmanager
def edited_keys(path: Path) -> Iterator[dict[str, Key]]:
    """Yield the keys of a file (none if the file does not exist), and write them back at the end of the block.

    A lock makes concurrent editors wait for each other. Raises KeyFileError.
    """
    path = path.resolve()  # so that a symbolic link is kept, and its target replaced
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        keys = read_keys(path) if path.exists() else {}
        yield keys
        write_keys(path, keys.values())
    finally:
        os.close(folder)


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Replace the key file atomically, with mode 0600. Raises KeyFileError."""
    content: dict[str, Any] = {"version": 1, "keys": [key.as_json() for key in keys]}
    try:
        write_private(path, json.dumps(content, indent=1).encode() + b"\n")
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror}") from None


def write_private(path: Path, content: bytes) -> None:
    """Replace a file atomically with one of mode 0600. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp creates it with 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def check_mode(path: Path, found: os.stat_result) -> None:
    """Refuse a file that other accounts may use. Raises KeyFileError.

    If the file has another owner, as Kubernetes mounts it, its group may read it.
    """
    forbidden = _OF_OTHERS if found.st_uid == os.geteuid() else _MOUNTED
    if found.st_mode & forbidden:
        mode = stat.S_IMODE(found.st_mode)
        raise KeyFileError(f"{path} has mode {mode:04o}, so others may use it: chmod 600 {path}")


def _signature(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise KeyFileError(f"{path} is not there: make it by `mnemolog keys create --tenant NAME`") from None
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
