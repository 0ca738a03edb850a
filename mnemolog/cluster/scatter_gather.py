"""Scatter-gather: an operation over all partitions. Each worker does its own part, and one of them adds up the answers.

If an answer is missing, because a worker is gone or partitions move, the whole operation fails; it is never partial.
"""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cluster.peers import PeerUnavailable, WorkerAnswer, WorkersDiffer
from projections.partitions.assignment import first_hindered

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from mnemolog.cluster.peers import Peers
    from mnemolog.settings import Settings
    from projections.partitions.shards import Shards

SHARED_SETTINGS: Final = ("index", "embedding_model")
"""Settings that workers of one group must have in common."""


class ScatterGather:
    """Runs operations at this worker and all its peers at the same time."""

    def __init__(self, shards: Shards, peers: Peers, url: str, settings: Settings) -> None:
        """`url` is the address at which the peers reach this worker."""
        self._shards = shards
        self._peers = peers
        self._url = url
        self._settings = {name: str(getattr(settings, name)) for name in SHARED_SETTINGS}

    @property
    def has_others(self) -> bool:
        """Return whether the group has other workers, as far as this one knows."""
        return bool(self._peers.others())

    async def local_answer(self, work: Awaitable[dict[str, Any]]) -> WorkerAnswer:
        """Do this worker's part and return its answer with the partitions that it covers.

        Raises PeerUnavailable if the partitions changed meanwhile.
        """
        before = self._shards.assignment.leases()
        body = await work
        if self._shards.assignment.leases() != before:
            raise PeerUnavailable("partitions moved between workers meanwhile: do it again")
        return WorkerAnswer(frozenset(before), body, self._url, self._settings)

    async def gather(
        self, work: Awaitable[dict[str, Any]], operation: str, request: object, seconds: float | None
    ) -> list[dict[str, Any]]:
        """Do this worker's part, request the others' parts, and return all answers, this worker's first.

        Together they cover each partition once. `seconds` is the time-out for each of the others, None for no limit.
        Raises PeerUnavailable, and any error of the work.
        """
        here = asyncio.ensure_future(self.local_answer(work))
        try:
            others = await self.ask_others(operation, request, seconds)
        except BaseException:
            here.cancel()
            raise
        return collect([await here, *others], self._shards.partitions, self._shards.assignment.hindrances)

    async def ask_others(self, operation: str, request: object, seconds: float | None) -> list[WorkerAnswer]:
        """Return the answers of all other workers. Raises PeerUnavailable."""
        return await self._peers.ask_all(_target(operation), request, seconds)

    async def notify_others(self, operation: str, request: object) -> None:
        """Send a request to every other worker that can be reached, and ignore the answers."""
        asking = [self._peers.ask(url, _target(operation), request) for url in self._peers.others()]
        for failed in await asyncio.gather(*asking, return_exceptions=True):
            if isinstance(failed, BaseException) and not isinstance(failed, PeerUnavailable):
                raise failed

    async def check_settings(self) -> None:
        """Raise WorkersDiffer if a shared setting differs at another worker. Raises PeerUnavailable."""
        others = await self.ask_others("generations", {}, None)  # every answer contains the settings
        check_settings([await self.local_answer(_nothing()), *others])


def collect(
    answers: Sequence[WorkerAnswer], partitions: int, hindrances: Mapping[int, str] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return the bodies of the answers. Raises PeerUnavailable unless they cover each partition exactly once.

    `hindrances` are the known reasons why a partition is not held.
    """
    covered = [partition for answer in answers for partition in answer.partitions]
    if sorted(covered) != list(range(partitions)):
        missing = sorted(set(range(partitions)) - set(covered))
        if (hindered := first_hindered(missing, hindrances)) is not None:
            raise PeerUnavailable(str(hindered))
        where = f"no worker holds {missing}" if missing else "one is held twice"
        raise PeerUnavailable(f"partitions are moving between workers ({where}): ask again in a moment")
    return [answer.body for answer in answers]


def check_settings(answers: Sequence[WorkerAnswer]) -> None:
    """Raise WorkersDiffer if a shared setting differs between the workers that answered."""
    for name in SHARED_SETTINGS:
        urls = {answer.settings[name]: answer.url for answer in answers if name in answer.settings}
        if len(urls) > 1:
            (one, its), (other, theirs), *_ = urls.items()
            detail = f"MNEMOLOG_{name.upper()} is {one} at {its}, and {other} at {theirs}"
            raise WorkersDiffer(f"{detail}: give all workers the same, and start them again")


def _target(operation: str) -> str:
    return f"/v1/internal/{operation}"


async def _nothing() -> dict[str, Any]:
    return {}
