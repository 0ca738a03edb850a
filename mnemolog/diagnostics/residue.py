"""Residue: a search for words in everything that is stored, in every encoding that a file or topic may use."""

from __future__ import annotations

import asyncio
import os
import re
import zlib
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from mnemolog.log.connection import opened_log
from schemas.topics import TOPICS
from streams.transports.kafka.log import KafkaLog
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mnemolog.settings import Settings

LEAST_BYTES: Final = 4
"""The minimum length of a word: shorter ones occur by chance."""
PIECE_BYTES: Final = 8 << 20
READ_RECORDS: Final = 500
MOST_INFLATED: Final = 4 << 20
"""The most bytes decompressed from one stream."""
OVERLAP_BYTES: Final = 64 << 10
"""How far two pieces overlap: compressed streams up to this length are never split."""
_DEFLATED: Final = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
"""The beginnings of zlib streams, at the levels in use, and of gzip streams."""
_ZLIB_OR_GZIP: Final = 32 + zlib.MAX_WBITS
"""The format is detected from the beginning of the stream."""


class TooShort(ValueError):
    """A word is too short to search for; the text names its line."""


class NothingToSearch(ValueError):
    """There are no words or no data directory, so finding nothing would prove nothing. The text says which."""


@dataclass(frozen=True, slots=True)
class Residue:
    """A word that was found: its line number in the list, never the word itself."""

    line: int
    where: str
    spelling: str


class Spellings:
    """All spellings of a list of words, searched for at once. Thousands cost little more than a few.

    Two tables hold the first two byte pairs of all spellings, and are looked up for all places at once. The spellings
    themselves are compared only where both match.
    """

    def __init__(self, words: Iterable[str]) -> None:
        """Take the words, one per line; empty lines are ignored. Raises TooShort."""
        meanings: dict[bytes, tuple[int, str]] = {}
        for line, text in enumerate(words, 1):
            word = text.strip()
            if not word:
                continue
            if len(word.encode()) < LEAST_BYTES:
                raise TooShort(f"line {line}: a word of fewer than {LEAST_BYTES} bytes is found by chance")
            for spelling, data in _spellings_of(word):
                meanings.setdefault(data, (line, spelling))
        self._first, self._second = np.zeros(1 << 16, np.bool_), np.zeros(1 << 16, np.bool_)
        self._beginning: dict[bytes, list[tuple[bytes, tuple[int, str]]]] = {}
        for data, meaning in meanings.items():
            self._first[data[0] << 8 | data[1]] = self._second[data[2] << 8 | data[3]] = True
            self._beginning.setdefault(data[:LEAST_BYTES], []).append((data, meaning))
        self.longest = max(map(len, meanings), default=0)

    def find(self, data: bytes) -> set[tuple[int, str]]:
        """Return the line and the spelling of each word found in some bytes, and in zlib streams within them."""
        found, view = self._matches(data), memoryview(data)
        for begin in _DEFLATED.finditer(data):
            stream = zlib.decompressobj(_ZLIB_OR_GZIP)
            try:
                text = stream.decompress(view[begin.start() :], MOST_INFLATED)
            except zlib.error:
                continue
            found |= {(line, f"zlib, {spelling}") for line, spelling in self._matches(text)}
        return found

    def _matches(self, data: bytes) -> set[tuple[int, str]]:
        if len(data) < LEAST_BYTES:
            return set()
        one = np.frombuffer(data, np.uint8).astype(np.uint16)
        pairs = one[:-1] << 8 | one[1:]
        places = np.flatnonzero(self._first[pairs[:-2]] & self._second[pairs[2:]]).tolist()
        return {
            meaning
            for place in places
            for spelling, meaning in self._beginning.get(data[place : place + LEAST_BYTES], ())
            if data.startswith(spelling, place)
        }


async def find_residue(settings: Settings, words: Iterable[str]) -> list[Residue]:
    """Search every file of the data directory, and on Kafka every record, for words; return where they are.

    On Kafka the directory need not exist: topics can be searched from anywhere.
    Raises TooShort, NothingToSearch, LogError, OSError.
    """
    spellings = Spellings(words)
    if not spellings.longest:
        raise NothingToSearch("it has no word to search for: write one per line")
    folder = settings.data_dir.resolve()
    if settings.is_embedded and not folder.is_dir():
        raise NothingToSearch(f"there is no data directory {folder} to search: say which by --data")
    if settings.is_embedded and (folder / "shards").is_dir() and not (folder / "log" / LOG_FILE).exists():
        raise NothingToSearch(f"{folder} is a worker's on Kafka, whose topics hold the words: set MNEMOLOG_BROKER too")
    found = await asyncio.to_thread(lambda: list(_in_files(folder, spellings)))
    if not settings.is_embedded:
        async with opened_log(settings) as log:
            if isinstance(log, KafkaLog):
                found += await _in_topics(log, spellings)
    return found


def searched(settings: Settings) -> str:
    """Return the scope of `find_residue`, as a sentence for the reader of its result."""
    files = f"searched: every file below {settings.data_dir.resolve()}"
    return f"{files}, and no topics" if settings.is_embedded else f"{files}, and every record on {settings.broker}"


def _in_files(folder: Path, spellings: Spellings) -> Iterator[Residue]:
    for path in sorted(_files(folder)):
        seen: set[tuple[int, str]] = set()
        try:
            with path.open("rb") as file:
                rest = b""
                while piece := file.read(PIECE_BYTES):
                    seen |= spellings.find(rest + piece)
                    rest = (rest + piece)[-max(spellings.longest, OVERLAP_BYTES) :]
        except FileNotFoundError:  # a running worker has just removed it
            continue
        yield from (Residue(line, str(path.relative_to(folder)), spelling) for line, spelling in sorted(seen))


def _files(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder, following links, for example to another disk. Visits each folder once."""
    walked: set[Path] = set()
    for place, inner, names in os.walk(folder, followlinks=True):
        here = Path(place)
        if here.resolve() in walked:
            inner.clear()
            continue
        walked.add(here.resolve())
        yield from (path for path in map(here.joinpath, names) if path.is_file())


async def _in_topics(log: KafkaLog, spellings: Spellings) -> list[Residue]:
    found = []
    for topic in TOPICS:
        for partition in range(await log.partitions(topic.name)):
            start = await log.earliest(topic.name, partition)
            while records := await log.read(topic.name, partition, start, READ_RECORDS):
                for record in records:
                    data = b"\n".join((record.key or b"", record.value, *(value for _, value in record.headers)))
                    seen = sorted(spellings.find(data))
                    found += [Residue(line, str(record.position), spelling) for line, spelling in seen]
                start = records[-1].position.offset + 1
    return found


def _spellings_of(word: str) -> Iterator[tuple[str, bytes]]:
    """Yield each spelling of a word with its name. Avro stores texts as UTF-8, the first one."""
    yield "UTF-8", word.encode()
    yield "UTF-16", word.encode("utf-16-le")
    yield "UTF-16", word.encode("utf-16-be")
    for upper in (False, True):
        escaped = "".join(one if one.isascii() else _escape(one, upper=upper) for one in word)
        yield "JSON", escaped.encode()
    for data, name in ((word.encode(), "UTF-8"), (word.encode("utf-16-le"), "UTF-16")):
        for offset in range(3):
            # For each of the three alignments, the letters that do not depend on what precedes or follows the word.
            coded = b64encode(b"\0" * offset + data)
            begin, end = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
            yield f"base64 of {name}", coded[begin:end]
            yield f"base64 of {name}", coded[begin:end].translate(bytes.maketrans(b"+/", b"-_"))


def _escape(character: str, *, upper: bool) -> str:
    pairs = character.encode("utf-16-be")
    units = (pairs[n : n + 2].hex() for n in range(0, len(pairs), 2))
    return "".join(f"\\u{unit.upper() if upper else unit}" for unit in units)
