"""A worker's place in the group: nobody waits for the process that had it before, and no two workers have one URL."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from mnemolog.settings import SettingsError
from schemas.log import LogError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mnemolog.settings import Settings
    from streams.transports.kafka.log import KafkaLog

LOOK_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 5.0
"""How much later than a session's end a group may notice that a worker is dead."""
log = logging.getLogger("mnemolog")


class Membership:
    """What the data directory keeps of the group: under which id its worker was in it last.

    Who holds the directory's lock knows that this process is dead; the group would wait for it until its session ends,
    and with it everybody.
    """

    def __init__(self, settings: Settings, kafka: KafkaLog, url: str) -> None:
        """Take the URL where the others reach this worker."""
        self._file = settings.data_dir.resolve() / "faust" / "member"
        self._kafka = kafka
        self._url = url
        self._noticed_seconds = settings.session_seconds + MARGIN_SECONDS

    async def come_back(self) -> None:
        """Have the group forget the process before; to be called before joining it. Raises SettingsError, LogError."""
        if self._file.exists() and await self._kafka.forget_member(self._file.read_text("utf-8")):
            log.info("the group was waiting for the process before, which had this data directory: it is forgotten")
        since = time.monotonic()
        while (host := await self._taken_at()) is not None:  # perhaps by one that is dead, which will be noticed
            if time.monotonic() - since > self._noticed_seconds:
                raise SettingsError(f"{_same(self._url)}, at {host}: give each worker its own")
            await asyncio.sleep(LOOK_SECONDS)

    async def watch(
        self,
        member_id: Callable[[], str | None],
        assigned: Callable[[], Collection[int] | None],
        told: Callable[[], Mapping[int, str]],
    ) -> None:
        """Keep the id that this process has in the group, for ever.

        Raises LogError when the group tells others that this worker's partitions are elsewhere, for longer than one
        that is dead, and had the same URL, could be the reason.
        """
        kept, since = None, None
        while True:
            if (known := member_id()) and known != kept:
                self._keep(known)
                kept = known
            mine = assigned()  # None while partitions move
            if mine is None or (shared := shared_url(self._url, mine, told())) is None:
                since = None
            elif time.monotonic() - (since := since or time.monotonic()) > self._noticed_seconds:
                raise LogError(shared)
            await asyncio.sleep(LOOK_SECONDS)

    def _keep(self, member_id: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(member_id, "utf-8")

    async def _taken_at(self) -> str | None:
        for member in await self._kafka.members():
            if member.url is not None and member.url.rstrip("/") == self._url.rstrip("/"):
                return member.host
        return None


def shared_url(url: str, assigned: Collection[int], told: Mapping[int, str]) -> str | None:
    """Return what is wrong when the group was told that others have what this worker was assigned; else None."""
    named = {partition for partition, its in told.items() if its.rstrip("/") == url.rstrip("/")}
    if named == set(assigned):
        return None
    return f"{_same(url)}, which has partitions {sorted(named)}: give each worker its own"


def _same(url: str) -> str:
    return f"MNEMOLOG_ADVERTISED_URL={url} is also that of another worker of the group"
