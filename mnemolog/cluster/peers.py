"""Peers: the other workers, who of them has which partition, and how a request reaches them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import httpx
import orjson

from projections.partitions.shards import NotHeld
from schemas.log import RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from projections.partitions.shards import Shards

FORWARDED: Final = "mnemolog-forwarded-by"
"""The header of a request that another worker sends on: it goes no further."""
LINES: Final = "application/x-ndjson"
SHARD: Final = "application/vnd.sqlite3"
CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 90.0
"""How long a worker may take to answer what was forwarded; waits of callers are at most 60."""
PATIENCE_SECONDS: Final = 2.0
"""A worker that takes longer is asked, again and again, whether it is alive."""
LIVE_SECONDS: Final = 5.0
"""One that does not say so in this time is frozen, or cut off: who waits for it is told."""
SHARED: Final = ("index", "embedding_model")
"""Settings that workers of one group must have in common."""


class PeerUnavailable(Exception):
    """Another worker does not answer, or partitions are moving: ask again in a moment."""


class WorkersDiffer(Exception):
    """Workers of one group have different settings that they must have in common: mend that, and start them again."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker answered for the partitions that it holds."""

    partitions: frozenset[int]
    body: dict[str, Any]
    url: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those of SHARED."""


class Peers:
    """Asks other workers, one hop: who is asked answers for itself or refuses."""

    def __init__(
        self, shards: Shards, owners: Callable[[], Mapping[int, str]], urls: Callable[[], Sequence[str]], own: str
    ) -> None:
        """`owners` tells the URL of each partition's worker, `urls` those of all, as far as this one was told."""
        self._shards = shards
        self._owners = owners
        self._urls = urls
        self._own = own.rstrip("/")
        unbounded = httpx.Limits(max_connections=None)  # those who wait for one worker must not keep others waiting
        self._http = httpx.AsyncClient(timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS), limits=unbounded)
        self._probing = httpx.AsyncClient(timeout=LIVE_SECONDS, limits=unbounded)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await self._probing.aclose()

    def owner(self, partition: int) -> str | None:
        """Return the URL of the worker that has a partition, None for this one. Raises NotHeld while it moves."""
        if partition in self._shards.held():
            return None
        url = self._owners().get(partition, self._own).rstrip("/")
        if url == self._own:
            raise NotHeld(partition)
        return url

    def unowned(self) -> list[int]:
        """Return the partitions that move: neither held here nor known to be another worker's."""
        owners, held = self._owners(), set(self._shards.held())
        elsewhere = {partition for partition, url in owners.items() if url.rstrip("/") != self._own}
        return sorted(set(range(self._shards.partitions)) - held - elsewhere)

    def others(self) -> list[str]:
        """Return the URLs of all other workers."""
        return [url for each in self._urls() if (url := each.rstrip("/")) != self._own]

    def knows(self, url: str) -> bool:
        """Tell whether a worker of the group is reached by a URL."""
        return url.rstrip("/") in {each.rstrip("/") for each in self._urls()}

    async def send(
        self,
        url: str,
        method: str,
        target: str,
        *,
        body: bytes,
        headers: Mapping[str, str],
        seconds: float | None = ANSWER_SECONDS,
    ) -> httpx.Response:
        """Send a request on and return the answer, whatever its status. Raises PeerUnavailable.

        An answer of lines, or a shard's file, is not read yet: who asked reads it as it comes, and closes it.
        One who stands still is given up after PATIENCE_SECONDS + LIVE_SECONDS, however long answers may take.
        """
        sent = {**headers, FORWARDED: self._own}
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        request = self._http.build_request(method, url + target, content=body, headers=sent, timeout=timeout)
        sending = asyncio.ensure_future(self._answered(request))
        try:
            while not (await asyncio.wait({sending}, timeout=PATIENCE_SECONDS))[0]:
                await self._probing.get(f"{url}/health/live")
            return sending.result()
        except httpx.TransportError as error:
            detail = f"the worker at {url} does not answer ({type(error).__name__}): ask again in a moment"
            raise PeerUnavailable(detail) from error
        finally:
            sending.cancel()

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        answer = await self._http.send(request, stream=True)
        if not is_of_lines(answer) and answer.headers.get("content-type") != SHARD:
            await answer.aread()
        return answer

    async def ask(self, url: str, target: str, body: object, seconds: float | None = ANSWER_SECONDS) -> dict[str, Any]:
        """Ask a worker for JSON. Raises PeerUnavailable, also when it refuses: its own words say why.

        Raises RecordTooLarge where it does: asked again it would say the same.
        """
        headers = {"content-type": "application/json"}
        answer = await self.send(url, "POST", target, body=orjson.dumps(body), headers=headers, seconds=seconds)
        if answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise RecordTooLarge(_detail(answer))
        if not answer.is_success:
            raise PeerUnavailable(f"the worker at {url} answers {answer.status_code}: {_detail(answer)}")
        found: dict[str, Any] = answer.json()
        return found

    async def gather(self, target: str, body: object, seconds: float | None) -> list[Part]:
        """Ask all others for what they know of the partitions that they hold. Raises PeerUnavailable."""
        others = self.others()
        asked = [self.ask(url, target, body, seconds) for url in others]
        answers = zip(others, await asyncio.gather(*asked), strict=True)
        return [
            Part(frozenset(found["partitions"]), found["body"], url, found.get("settings", {}))
            for url, found in answers
        ]


def whole(parts: Sequence[Part], partitions: int) -> list[dict[str, Any]]:
    """Return the bodies of parts that cover each partition once. Raises PeerUnavailable."""
    covered = [partition for part in parts for partition in part.partitions]
    if sorted(covered) != list(range(partitions)):
        missing = sorted(set(range(partitions)) - set(covered))
        where = f"nobody holds {missing}" if missing else "one is held twice"
        raise PeerUnavailable(f"partitions are moving between workers ({where}): ask again in a moment")
    return [part.body for part in parts]


def is_of_lines(answer: httpx.Response) -> bool:
    """Tell whether an answer is one JSON object a line, of any length."""
    return str(answer.headers.get("content-type", "")).startswith(LINES)


def alike(parts: Sequence[Part]) -> None:
    """Raise WorkersDiffer when the workers that answered have not the settings in common that they must have."""
    for name in SHARED:
        said = {part.settings[name]: part.url for part in parts if name in part.settings}
        if len(said) > 1:
            (one, its), (other, theirs), *_ = said.items()
            detail = f"MNEMOLOG_{name.upper()} is {one} at {its}, and {other} at {theirs}"
            raise WorkersDiffer(f"{detail}: give all workers the same, and start them again")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]
