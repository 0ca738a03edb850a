"""The master keys of an installation: given by a setting, or in `keys/master` of its data directory."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final

from projections.durable_files import replace_file
from schemas.log import LogError
from streams.sealing.master_key import KEY_BYTES, PUT_BACK, MasterKeys

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "keys"
FILE: Final = "master"
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


class KeysUnusable(LogError):
    """The master keys cannot be read; the text says what to do."""


def read_keys(text: str, source: str, advice: str = PUT_BACK) -> MasterKeys:
    """Return the keys in a text: 32 bytes in base64 each, the newest first, separated by white space or commas.

    `advice` is the remedy for a missing key. Raises KeysUnusable, which names the source and quotes no key.
    """
    keys = []
    for number, word in enumerate(text.replace(",", " ").split(), 1):
        try:
            key = b64decode(word.replace("-", "+").replace("_", "/") + "=" * (-len(word) % 4), validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            advice = "`openssl rand -base64 32` makes one"
            raise KeysUnusable(f"{source}: key {number} is not {KEY_BYTES} bytes in base64: {advice}")
        keys.append(key)
    if not keys:
        raise KeysUnusable(f"{source} is empty: it holds {KEY_BYTES} bytes in base64, the newest key first")
    return MasterKeys(keys, source, advice)


def read_file(path: Path, source: str | None = None, advice: str = PUT_BACK) -> MasterKeys:
    """Return the keys in a file; `source` and `advice` as in `read_keys`, by default its path. Raises KeysUnusable."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise KeysUnusable(f"the master key {source or path} cannot be read: {reason}") from error
    return read_keys(text, source or str(path), advice)


def file_of(data_dir: Path) -> Path:
    """Return the path of a data directory's own master keys."""
    return data_dir / FOLDER / FILE


def make_key() -> str:
    """Return a new master key, 32 random bytes in base64."""
    return b64encode(os.urandom(KEY_BYTES)).decode()


def write_keys(path: Path, keys: list[str]) -> None:
    """Write keys, the newest first, to a file that only this user can read. The file is replaced atomically."""
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    replace_file(path, "".join(f"{key}\n" for key in keys).encode("ascii"), FILE_MODE)
