"""SQLite files next to the log, encrypted with SQLCipher if the installation has a key for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path
else:
    # SQLCipher's module has the interface of the standard library's, and also reads unencrypted files. It contains its
    # own build of SQLite: no other build may open these files in the same process.
    from sqlcipher3 import dbapi2 as sqlite3

__all__ = ["is_clear", "key_of", "open_database", "sqlite3", "unlock"]

PAGE_BYTES: Final = 8192
"""Pages in which rows of 2,000 bytes share space: with SQLite's default of 4,096, a row over 980 takes its own page."""
IN_MEMORY: Final = ":memory:"
_CLEAR: Final = b"SQLite format 3\x00"
_keys: dict[Path, bytes] = {}


def unlock(folder: Path, key: bytes | None) -> None:
    """Use a key of 32 bytes for the files below a folder; None means that they are not encrypted.

    The key is kept per process and folder, because many places and short-lived threads open files.
    """
    if key is None:
        _keys.pop(folder.resolve(), None)
    else:
        _keys[folder.resolve()] = key


def key_of(path: Path) -> bytes | None:
    """Return the key of a file; None if it is not encrypted."""
    return next((_keys[folder] for folder in path.resolve().parents if folder in _keys), None)


def is_clear(path: Path) -> bool | None:
    """Return whether a file is unencrypted; None if it does not exist or is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_CLEAR))
    except OSError:
        return None
    return head == _CLEAR if head else None


def how_still(path: Path) -> str:
    """Return SQLite's options to open a file that is not in use, without changing it or the files next to it.

    If a process has died and left a write-ahead log, that is read too. Without its file of shared memory it cannot be
    read, and its content is ignored.
    """
    beside = [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")]
    return "mode=ro&readonly_shm=1" if all(map(_has_content, beside)) else "immutable=1"


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def open_database(path: Path, mode: str = "rwc", **options: Any) -> Any:  # noqa: ANN401 - a connection of any factory
    """Open a file with SQLite's mode `ro`, `rw` or `rwc`, or as `immutable`, and the options of `sqlite3.connect`.

    The mode `still` reads the file without changing it or the files next to it; no other process may have it open.
    Raises sqlite3.Error; for a file under another key, only at the first statement.
    """
    how = how_still(path) if mode == "still" else "immutable=1" if mode == "immutable" else f"mode={mode}"
    where = IN_MEMORY if str(path) == IN_MEMORY else f"{path.resolve().as_uri()}?{how}"
    connection = sqlite3.connect(where, uri=True, **options)
    if (key := key_of(path)) is not None:
        connection.execute(f"pragma key=\"x'{key.hex()}'\"")
        connection.execute(f"pragma cipher_page_size={PAGE_BYTES}")
        connection.execute("pragma cipher_hmac_algorithm=HMAC_SHA256")
    return connection
