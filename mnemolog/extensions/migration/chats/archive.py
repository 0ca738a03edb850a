"""Exports of chats as they come: a file, plain or in gzip, or a zip or folder that contains files of known names."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

from mnemolog.extensions.migration.rows import Unreadable

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an export."""

    name: str
    size: int | None
    """The size of its content in bytes; None if only reading can tell."""
    archive: Path
    member: str | None = None
    """Its name within the archive, if that is a zip."""

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open it at its beginning. Raises OSError, or Unreadable for a damaged archive or one with a password."""
        try:
            if self.member is None:
                with self.archive.open("rb") as file:
                    yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if self.size is None else file
            else:
                with ZipFile(self.archive) as zipped, zipped.open(self.member) as stream:
                    yield cast("BinaryIO", stream)
        except (BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable(f"{self.name} is damaged: {error}") from error
        except (RuntimeError, NotImplementedError) as error:  # zipfile's errors for a password or an unknown method
            if self.member is None:
                raise
            raise Unreadable(f"{self.name} cannot be unpacked: {error}") from error


def parts(name: str, wanted: re.Pattern[str]) -> list[Part]:
    """Return the files of an export, in the order of their names.

    In a zip or a folder, these are the files whose full names match `wanted`. Raises OSError, or Unreadable if there
    are none.
    """
    path = Path(name)
    if path.is_dir():
        found = [_file(one) for one in sorted(path.rglob("*")) if one.is_file() and wanted.fullmatch(one.name)]
    elif not path.is_file():
        path.stat()  # raises if there is no such path
        raise Unreadable(f"{name} is no file: it is read more than once, so a pipe will not do")
    elif is_zipfile(path):
        with ZipFile(path) as zipped:
            found = [
                Part(f"{name}:{one.filename}", one.file_size, path, one.filename)
                for one in sorted(zipped.infolist(), key=lambda info: info.filename)
                if wanted.fullmatch(Path(one.filename).name) and not one.filename.startswith("__MACOSX/")
            ]
    else:
        return [_file(path)]
    if not found:
        raise Unreadable(f"{name} has no file that is called as expected ({wanted.pattern})")
    return found


def _file(path: Path) -> Part:
    with path.open("rb") as file:
        is_gzip = file.read(len(_GZIP)) == _GZIP
    return Part(str(path), None if is_gzip else path.stat().st_size, path)


def total_of(found: list[Part]) -> int | None:
    """Return the total size in bytes; None if it is unknown."""
    sizes = [part.size for part in found]
    return None if None in sizes else sum(cast("list[Any]", sizes))
