"""Heads that are kept elsewhere: a worker regularly writes them to a folder, or posts them.

An attacker who can write the log can replace all of it with an older copy. Only heads in a place that this attacker
cannot write reveal it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from re import sub
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpcore
import orjson
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.operations.integrity.verification import Head, NoHead, heads_of, sign_heads
from projections.shard.rows.damage import LedgerDamaged
from schemas.disclosure import masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client import Metric

    from mnemolog.operations.erasing.receipts import Receipts
    from mnemolog.receivers import Receivers
    from mnemolog.settings import Settings
    from projections.partitions.shards import Shards
    from schemas.instant import Clock

log = logging.getLogger("mnemolog")
RETRY_SECONDS: Final = 60.0
LAST_SECONDS: Final = 2.0
"""How long a stopping worker tries to keep its last heads."""
FILES: Final = "heads-*.jsonl"
_MODE: Final = 0o600
_OK: Final = range(200, 300)


class NotKept(OSError):
    """Heads could not be kept; it says why."""


class HeadPlace(Protocol):
    """A place where heads are kept."""

    async def keep(self, line: bytes) -> None:
        """Keep signed heads, durably when this returns. Raises NotKept."""
        ...


class HeadFolder:
    """A folder with a file for each machine, to which lines are appended. It is never created here: see `_require`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self._folder = folder

    async def keep(self, line: bytes) -> None:
        """See `HeadPlace`."""
        await asyncio.to_thread(self._append, line)

    def _append(self, line: bytes) -> None:
        self._require()
        machine = sub(r"[^\w.-]", "_", socket.gethostname()) or "worker"
        try:
            path = self._folder / FILES.replace("*", machine)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)
            with os.fdopen(descriptor, "rb+", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 1))
                cut_short = size > 0 and file.read(1) != b"\n"  # by a crash
                file.write((b"\n" if cut_short else b"") + line + b"\n")
                os.fsync(file.fileno())
        except OSError as error:
            raise NotKept(f"{self._folder} cannot be written: {error.strerror}") from error

    def furthest(self, public_key: str) -> list[Head]:
        """Return the furthest heads of each partition, from all lines that an installation has signed.

        A newer line may lack a partition, or have a smaller offset, because a worker may not have held it, or the log
        may be an older copy. Different heads of the same offset are all returned. Raises NotKept, OSError.
        """
        self._require()
        found: dict[tuple[str, int], list[Head]] = {}
        for path in sorted(self._folder.glob(FILES)):
            for line in reversed(_parsed(path.read_bytes().splitlines())):
                with suppress(KeyError, TypeError, NoHead):  # other lines are ignored
                    claimed = [Head(**one) for one in line["heads"]]
                    if any(_is_news(one, found) for one in claimed):  # otherwise its signature does not matter
                        for head in heads_of(line, public_key):
                            _take(head, found)
        return [head for heads in found.values() for head in heads]

    def _require(self) -> None:
        if not self._folder.is_dir():  # most often a volume is not mounted, which a new folder would hide
            raise NotKept(f"the folder {self._folder} is not there: mount it, or make it")


def _is_news(head: Head, found: dict[tuple[str, int], list[Head]]) -> bool:
    known = found.get((head.topic, head.partition))
    return known is None or head.offset > known[0].offset or (head.offset == known[0].offset and head not in known)


def _take(head: Head, found: dict[tuple[str, int], list[Head]]) -> None:
    if _is_news(head, found):
        place = head.topic, head.partition
        equal = [one for one in found.get(place, ()) if one.offset == head.offset]
        found[place] = [*equal, head]


class HeadReceiver:
    """An address to which heads are posted."""

    def __init__(self, url: str, receivers: Receivers) -> None:
        """Take the address, and the client that posts."""
        self._url = url
        self._receivers = receivers

    async def keep(self, line: bytes) -> None:
        """See `HeadPlace`."""
        try:
            answer = await self._receivers.post(self._url, {"content-type": "application/json"}, line)
        except (ValueError, OSError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as e:
            raise NotKept(f"{masked(self._url)}: {str(e) or type(e).__name__}") from e
        if answer.status not in _OK:
            raise NotKept(f"{masked(self._url)} answered {answer.status}")


class HeadKeeper(Collector):
    """Keeps the heads of the partitions that this worker holds, regularly and once more when it stops."""

    def __init__(
        self, place: HeadPlace | None, seconds: float, *, shards: Shards, receipts: Receipts, clock: Clock
    ) -> None:
        """Take where and how often heads are kept; None: they are only measured."""
        self._place = place
        self._seconds = seconds
        self._shards = shards
        self._receipts = receipts
        self._clock = clock
        self._last: list[Head] = []
        self._is_compared = not isinstance(place, HeadFolder)
        self._kept_at: float | None = None
        self._is_failing = False
        self._is_refusing = False
        self._is_contradicted = False

    async def look_back(self) -> None:
        """Give the shards the furthest heads in the folder: a log that ends before them is an older copy.

        If the folder is unavailable, it is read before the first heads are kept in it.
        """
        try:
            await self._look_back()
            self._is_compared = True  # by the shards, when they are folded
        except OSError as error:
            self._fail(error)

    async def _look_back(self) -> None:
        """See `look_back`. Raises NotKept, OSError."""
        if isinstance(self._place, HeadFolder):
            kept: defaultdict[tuple[str, int], list[tuple[int, bytes]]] = defaultdict(list)
            for head in await asyncio.to_thread(self._place.furthest, self._receipts.public_key):
                kept[head.topic, head.partition].append((head.offset, bytes.fromhex(head.head)))
            self._shards.takeover.comparison.kept_elsewhere = kept

    async def run(self) -> None:
        """Keep heads regularly, without end; return at once if there is no place for them."""
        while self._place is not None:
            await self.keep()
            await asyncio.sleep(min(RETRY_SECONDS, self._seconds) if self._is_failing else self._seconds)

    async def keep_last(self) -> None:
        """Keep the heads of a stopping worker."""
        try:
            await asyncio.wait_for(self.keep(), LAST_SECONDS)
        except LedgerDamaged as error:
            log.warning("no heads are kept elsewhere: %s", error)
        except TimeoutError:
            log.warning("the last heads are not kept elsewhere: it took more than %.0f s", LAST_SECONDS)

    async def keep(self) -> None:
        """Keep the current heads, unless they are kept already; errors are logged.

        While a partition is refused none are kept: they would be those of a log that is an older copy, or was edited.
        Raises LedgerDamaged where a folder that was missing at the start contradicts the log.
        """
        if self._place is None or self._is_contradicted:
            return
        try:
            if not self._is_compared:
                await self._look_back()
                contradicted = await self._shards.takeover.contradicted()
                self._is_compared, self._is_contradicted = True, bool(contradicted)
                if contradicted:
                    raise LedgerDamaged(
                        "the log contradicts the heads that were kept elsewhere in partitions "
                        f"{', '.join(map(str, contradicted))}: the next start refuses these and serves the others"
                    )
            if self._is_refused():
                return
            heads = self.heads()
            if heads and heads != self._last:
                signed = sign_heads(heads, self._receipts, kept_at=self._clock.now().isoformat())
                await self._place.keep(orjson.dumps(signed))
        except OSError as error:
            self._fail(error)
            return
        if self._is_failing:
            log.info("heads are kept elsewhere again")
        if heads or self._kept_at is not None:
            self._last, self._kept_at = heads, time.monotonic()
        self._is_failing = False

    def _is_refused(self) -> bool:
        """Return whether a partition is refused; log it once."""
        was, self._is_refusing = self._is_refusing, bool(self._shards.assignment.refused)
        if self._is_refusing and not was:
            log.warning("no heads are kept elsewhere while the ledger of a partition is refused")
            self._begin_age()
        return self._is_refusing

    def _fail(self, error: OSError) -> None:
        if not self._is_failing:
            log.warning("heads are not kept elsewhere until it is mended: %s", error)
        self._begin_age()
        self._is_failing = True

    def _begin_age(self) -> None:
        """Start the age at the first failure if nothing was kept so far."""
        if self._kept_at is None:
            self._kept_at = time.monotonic()

    def heads(self) -> list[Head]:
        """Return the heads of the held partitions, without damaged ones, which have no valid head."""
        shards = self._shards.all() if 0 in self._shards.held() else self._shards.all()[:-1]
        return [
            Head(shard.ledger_topic, shard.partition, reached, shard.head.hex())
            for shard in shards
            if (reached := shard.offset(shard.ledger_topic)) and not shard.ledger.damages.all()
        ]

    def collect(self) -> Iterable[Metric]:
        """Return the gauges as of now."""
        offsets = GaugeMetricFamily(
            "mnemolog_head_offset", "Up to where the head of a partition goes", labels=("topic", "partition")
        )
        for head in self.heads():
            offsets.add_metric((head.topic, str(head.partition)), head.offset)
        yield offsets
        if self._kept_at is not None:
            age = time.monotonic() - self._kept_at
            yield GaugeMetricFamily("mnemolog_heads_kept_age_seconds", "Time since heads were kept elsewhere", age)


def folder_of(settings: Settings) -> Path | None:
    """Return the folder in which heads are kept; None if they are posted, or not kept."""
    place = settings.heads_to
    return None if place is None or "://" in place else Path(place).expanduser().resolve()


def place_of(settings: Settings, receivers: Receivers) -> HeadPlace | None:
    """Return the configured place for heads; None if there is none."""
    if (folder := folder_of(settings)) is not None:
        return HeadFolder(folder)
    return None if settings.heads_to is None else HeadReceiver(settings.heads_to, receivers)


@dataclass(frozen=True, slots=True)
class KeptHeads:
    """Heads that were kept elsewhere, each once, and the number of their lines."""

    lines: int
    heads: list[Head]


def read_kept(path: Path, public_key: str) -> KeptHeads:
    """Return the heads of a file, or of all files of a folder, as they were printed, written or posted.

    Raises OSError, or NoHead if there are none, or if one was not signed with the key.
    """
    paths = sorted([*path.glob("*.json"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
    found, lines = dict[Head, None](), 0
    for one in paths:
        text = one.read_bytes()
        try:
            kept: Sequence[Any] = [orjson.loads(text)]
        except orjson.JSONDecodeError:
            kept = _parsed(text.splitlines())
        for each in kept:
            found.update(dict.fromkeys(heads_of(each, public_key)))
        lines += len(kept)
    if not paths:
        raise NoHead("no heads are kept there")
    return KeptHeads(lines, list(found))


def _parsed(lines: Sequence[bytes]) -> list[Any]:
    """Return the JSON of lines, without those that a crash cut short."""
    found = []
    for line in lines:
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
    return found
