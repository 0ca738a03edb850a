"""Heads that are kept elsewhere: a worker writes them into a folder, or posts them, again and again.

Whoever can write the log can put an older copy of everything in its place. Only what lies where nobody comes who can do
that tells of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from operator import attrgetter
from pathlib import Path
from re import sub
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpcore
import orjson
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.operations.erasing.receipts import is_signed
from mnemolog.operations.integrity.verification import Head, NoHead, heads_of, sign_heads
from schemas.disclosure import masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client import Metric

    from mnemolog.operations.erasing.receipts import Receipts
    from mnemolog.settings import Settings
    from mnemolog.webhooks.receivers import Receivers
    from projections.partitions.shards import Shards
    from schemas.instant import Clock

log = logging.getLogger("mnemolog")
RETRY_SECONDS: Final = 60.0
LAST_SECONDS: Final = 2.0
"""How long a worker that stops tries to keep its last heads."""
FILES: Final = "heads-*.jsonl"
_MODE: Final = 0o600
_OK: Final = range(200, 300)
_LAST_BYTES: Final = 1 << 20
"""The end of a file, in which its last line lies."""


class NotKept(OSError):
    """Heads could not be kept; it says why."""


class HeadPlace(Protocol):
    """Where heads are kept."""

    async def keep(self, line: bytes) -> None:
        """Have signed heads kept when this returns. Raises NotKept."""
        ...


class HeadFolder:
    """A folder with a file for each machine, to which lines are appended. It is never made here: see `_append`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self._folder = folder

    async def keep(self, line: bytes) -> None:
        """See `HeadPlace`."""
        await asyncio.to_thread(self._append, line)

    def _append(self, line: bytes) -> None:
        if not self._folder.is_dir():  # most often a volume that is not mounted: nobody is to be fooled by a new folder
            raise NotKept(f"the folder {self._folder} is not there: mount it, or make it")
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

    def last(self, public_key: str) -> list[Head]:
        """Return the last heads of each file that an installation has signed. Raises OSError."""
        found: list[Head] = []
        for path in sorted(self._folder.glob(FILES)):
            with path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
                kept = _parsed(file.read().splitlines())
            signed = (one for one in reversed(kept) if isinstance(one, dict) and is_signed(one, public_key))
            found += next((heads_of(one, public_key) for one in signed), [])
        return found


class HeadReceiver:
    """An address to which heads are posted."""

    def __init__(self, url: str, receivers: Receivers) -> None:
        """Take the address, and what posts."""
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
    """Keeps the heads of the partitions that this worker holds, while it runs and once more when it stops."""

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
        self._kept_at = time.monotonic()
        self._is_failing = False

    async def look_back(self) -> None:
        """Tell the shards the newest heads that were kept in a folder: a log that ends before is an older copy."""
        if isinstance(self._place, HeadFolder):
            try:
                last = await asyncio.to_thread(self._place.last, self._receipts.public_key)
            except OSError as error:
                log.warning("the heads that were kept elsewhere cannot be read: %s", error)
                return
            for head in sorted(last, key=attrgetter("offset")):
                kept = self._shards.takeover.comparison.kept_elsewhere
                kept[head.topic, head.partition] = head.offset, bytes.fromhex(head.head)

    async def run(self) -> None:
        """Keep heads again and again, without end; ends at once where they are kept nowhere."""
        while self._place is not None:
            await self.keep()
            await asyncio.sleep(min(RETRY_SECONDS, self._seconds) if self._is_failing else self._seconds)

    async def keep_last(self) -> None:
        """Keep the heads of a worker that stops."""
        try:
            await asyncio.wait_for(self.keep(), LAST_SECONDS)
        except TimeoutError:
            log.warning("the last heads are not kept elsewhere: it took more than %.0f s", LAST_SECONDS)

    async def keep(self) -> None:
        """Keep the heads as they are now, unless they are kept already; what keeps that from being done is logged."""
        if self._place is None:
            return
        heads = self.heads()
        try:
            if heads and heads != self._last:
                signed = sign_heads(heads, self._receipts, kept_at=self._clock.now().isoformat())
                await self._place.keep(orjson.dumps(signed))
        except NotKept as error:
            if not self._is_failing:
                log.warning("heads are not kept elsewhere until it is mended: %s", error)
            self._is_failing = True
            return
        if self._is_failing:
            log.info("heads are kept elsewhere again")
        self._last, self._kept_at, self._is_failing = heads, time.monotonic(), False

    def heads(self) -> list[Head]:
        """Return the heads of what is held; of a partition with damage none, for no head of it is true."""
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
        if self._place is not None:
            age = time.monotonic() - self._kept_at
            yield GaugeMetricFamily("mnemolog_heads_kept_age_seconds", "Time since heads were kept elsewhere", age)


def folder_of(settings: Settings) -> Path | None:
    """Return the folder in which heads are kept; None where they are posted, or kept nowhere."""
    place = settings.heads_to
    return None if place is None or "://" in place else Path(place).expanduser().resolve()


def place_of(settings: Settings, receivers: Receivers) -> HeadPlace | None:
    """Return where the settings have heads kept."""
    if (folder := folder_of(settings)) is not None:
        return HeadFolder(folder)
    return None if settings.heads_to is None else HeadReceiver(settings.heads_to, receivers)


def read_kept(path: Path, public_key: str) -> list[Head]:
    """Return the heads of a file, or of all files of a folder, as they were printed, written or posted.

    Raises OSError, NoHead where there are none, or one was not signed with the key.
    """
    paths = sorted([*path.glob("*.json"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
    found = dict[Head, None]()
    for one in paths:
        text = one.read_bytes()
        try:
            kept: Sequence[Any] = [orjson.loads(text)]
        except orjson.JSONDecodeError:
            kept = _parsed(text.splitlines())
        for each in kept:
            found.update(dict.fromkeys(heads_of(each, public_key)))
    if not paths:
        raise NoHead("no heads are kept there")
    return list(found)


def _parsed(lines: Sequence[bytes]) -> list[Any]:
    """Return what lines say; those that a crash cut short, and the end of one that was begun before, say nothing."""
    found = []
    for line in lines:
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
    return found
