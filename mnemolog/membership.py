"""A worker's place in the group: nobody waits for the process that had it before, and no two workers have one URL."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from mnemolog.settings import SettingsError
from schemas.log import LogError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from streams.transports.kafka_log import KafkaLog

LOOK_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 5.0
"""How much later than a session's end a group may notice that a worker is dead."""
log = logging.getLogger("mnemolog")


class Membership:
    """What the data directory keeps of the group: under which id its worker was in it last.

    Who holds the directory's lock knows that this process is dead; the group would wait for it until its session ends,
    and with it everybody.
    """

    def __init__(self, folder: Path, kafka: KafkaLog, url: str, session_seconds: float) -> None:
        self._file = folder / "member"
        self._kafka = kafka
        self._url = url
        self._session_seconds = session_seconds

    async def come_back(self) -> None:
        """Have the group forget the process before; to be called before joining it. Raises SettingsError, LogError."""
        if self._file.exists() and await self._kafka.forget_member(self._file.read_text("utf-8")):
            log.info("the group was waiting for the process before, which had this data directory: it is forgotten")
        deadline = time.monotonic() + self._session_seconds + MARGIN_SECONDS
        while (host := await self._taken_at()) is not None:  # perhaps by one that is dead, which will be noticed
            if time.monotonic() > deadline:
                raise SettingsError(f"{_same(self._url)}, at {host}: give each worker its own")
            await asyncio.sleep(LOOK_SECONDS)

    def joined(self, member_id: str) -> None:
        """Keep the id that this process has in the group."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(member_id, "utf-8")

    async def _taken_at(self) -> str | None:
        for member in await self._kafka.members():
            if member.url is not None and member.url.rstrip("/") == self._url.rstrip("/"):
                return member.host
        return None


def require_own_url(url: str, assigned: Collection[int], told: Mapping[int, str]) -> None:
    """Raise LogError when the group was told that others have what this worker was assigned: by one with its URL."""
    named = {partition for partition, its in told.items() if its.rstrip("/") == url.rstrip("/")}
    if named != set(assigned):
        raise LogError(f"{_same(url)}, which has partitions {sorted(named)}: give each worker its own")


def _same(url: str) -> str:
    return f"MNEMOLOG_ADVERTISED_URL={url} is also that of another worker of the group"
