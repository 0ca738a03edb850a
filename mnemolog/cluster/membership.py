"""Membership: the worker's member id and URL in the Kafka group, taken over from its former process and kept unique."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from mnemolog.environment import SettingsError
from schemas.log import LogError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from mnemolog.settings import Settings
    from streams.transports.kafka.log import KafkaLog

POLL_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 5.0
"""How long the group may take, after a session has ended, to notice that a worker is dead."""
FORGOTTEN: Final = "the group was still waiting for the former process of this data directory, and has forgotten it"
log = logging.getLogger("mnemolog")


def member_file(settings: Settings) -> Path:
    """Return the path of the file with the last member id of the data directory's worker."""
    return settings.data_dir.resolve() / "faust" / "member"


class Membership:
    """The last member id of the data directory's worker, and the worker's URL in the group.

    The holder of the directory's lock knows that the former process is dead. The group does not, and assigns no
    partitions at all until the session of that process ends.
    """

    def __init__(self, settings: Settings, kafka: KafkaLog, url: str) -> None:
        """`url` is the address at which other workers reach this one."""
        self._file = member_file(settings)
        self._kafka = kafka
        self._url = url
        self._noticed_seconds = settings.session_seconds + MARGIN_SECONDS

    async def release_former_process(self) -> None:
        """Remove the former process from the group, and wait until no other member has this worker's URL.

        Call it before joining the group. Raises SettingsError if the URL stays taken, and LogError.
        """
        if self._file.exists() and await self._kafka.forget_member(self._file.read_text("utf-8")):
            log.info(FORGOTTEN)
        since = time.monotonic()
        while (host := await self._host_with_this_url()) is not None:  # a dead worker's session will end
            if time.monotonic() - since > self._noticed_seconds:
                raise SettingsError(f"{_not_unique(self._url)}, at {host}: give each worker its own")
            await asyncio.sleep(POLL_SECONDS)

    async def watch(
        self,
        member_id: Callable[[], str | None],
        assigned: Callable[[], Collection[int] | None],
        owners: Callable[[], Mapping[int, str]],
    ) -> None:
        """Save this process's member id whenever it changes, until cancelled.

        `assigned` returns this worker's partitions, None while they move; `owners` returns the URL of each partition's
        owner in the group. Raises LogError if the two contradict each other for longer than a dead worker with the same
        URL could explain.
        """
        saved: str | None = None
        since: float | None = None
        while True:
            if (current := member_id()) and current != saved:
                self._save(current)
                saved = current
            partitions = assigned()
            if partitions is None or (problem := find_duplicate_url(self._url, partitions, owners())) is None:
                since = None
            elif time.monotonic() - (since := since or time.monotonic()) > self._noticed_seconds:
                raise LogError(problem)
            await asyncio.sleep(POLL_SECONDS)

    def _save(self, member_id: str) -> None:
        self._file.parent.mkdir(0o700, parents=True, exist_ok=True)
        self._file.write_text(member_id, "utf-8")

    async def _host_with_this_url(self) -> str | None:
        for member in await self._kafka.members():
            if member.url is not None and member.url.rstrip("/") == self._url.rstrip("/"):
                return member.host
        return None


def find_duplicate_url(url: str, assigned: Collection[int], owners: Mapping[int, str]) -> str | None:
    """Return an error text if the group lists this URL for partitions other than the worker's own; else None."""
    named = {partition for partition, owner in owners.items() if owner.rstrip("/") == url.rstrip("/")}
    if named == set(assigned):
        return None
    return f"{_not_unique(url)}, which has partitions {sorted(named)}: give each worker its own"


def _not_unique(url: str) -> str:
    return f"MNEMOLOG_ADVERTISED_URL={url} is also that of another worker of the group"
