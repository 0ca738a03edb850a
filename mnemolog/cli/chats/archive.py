"""Exports of chats as they come: a file, the same in gzip, a zip or a folder with files of known names among others."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

from mnemolog.cli.migrations.rows import Unreadable

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an export."""

    name: str
    size: int | None
    """Bytes that reading it gives; None where only reading tells."""
    archive: Path
    member: str | None = None
    """Its name in the archive, where that is a zip."""

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open it from its beginning. Raises OSError, Unreadable for an archive that is damaged or has a password."""
        try:
            if self.member is None:
                with self.archive.open("rb") as file:
                    yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if self.size is None else file
            else:
                with ZipFile(self.archive) as zipped, zipped.open(self.member) as stream:
                    yield cast("BinaryIO", stream)
        except (BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable(f"{self.name} is damaged: {error}") from error
        except (RuntimeError, NotImplementedError) as error:  # how zipfile says that there is a password, or a method
            if self.member is None:
                raise
            raise Unreadable(f"{self.name} cannot be unpacked: {error}") from error


def parts(name: str, wanted: re.Pattern[str]) -> list[Part]:
    """Return the files of an export, in the order of their names.

    Of a zip or a folder these are the ones whose names match `wanted` as a whole. Raises OSError, Unreadable for one
    without any.
    """
    path = Path(name)
    if path.is_dir():
        found = [_file(one) for one in sorted(path.rglob("*")) if one.is_file() and wanted.fullmatch(one.name)]
    elif not path.is_file():
        path.stat()  # which says that there is none
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
    """Return the bytes of all, None where they are not known."""
    sizes = [part.size for part in found]
    return None if None in sizes else sum(cast("list[Any]", sizes))
