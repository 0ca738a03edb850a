"""Peers: the other workers of the group, which partitions they have, and how a request reaches them."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn

import httpx
import orjson

from mnemolog.cluster.peer_hosts import PeerHosts
from mnemolog.cluster.trust import PeerTrust
from projections.partitions.assignment import first_hindered
from schemas import telemetry
from schemas.log import RecordTooLarge

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence

    from projections.partitions.shards import Shards

LINES: Final = "application/x-ndjson"
SHARD: Final = "application/vnd.sqlite3"
CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 90.0
"""How long a worker may take to answer a forwarded request; callers wait at most 60."""
PROBE_AFTER_SECONDS: Final = 2.0
"""After so long without an answer the worker is probed, again and again."""
LOOK_SECONDS: Final = 0.1
"""How often a caller who waits for a slow answer looks whether the partition is another worker's by now."""
LIVE_SECONDS: Final = 5.0
"""A probe without an answer in this time means that the worker is frozen or cut off: the request fails."""


class PeerUnavailable(Exception):
    """Another worker does not answer, or partitions are moving: ask again in a moment."""


class PartitionMoved(PeerUnavailable):
    """Another worker has the partition by now: what was asked of the former one can be asked of it."""


class WorkersDiffer(Exception):
    """Workers of one group differ in settings that they must share: mend that, and start them again."""


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What one worker answered for the partitions that it holds."""

    partitions: frozenset[int]
    body: dict[str, Any]
    url: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those that all workers must share, by name; empty from a worker too old to say."""


class Connections:
    """Connections to other workers, in one TLS context; never through a proxy that the environment names."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        verify = httpx.create_ssl_context() if context is None else context
        unbounded = httpx.Limits(max_connections=None)  # requests to a slow worker must not hold up those to the others
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self.http = httpx.AsyncClient(timeout=timeout, limits=unbounded, verify=verify, trust_env=False)
        self.probe = httpx.AsyncClient(timeout=LIVE_SECONDS, limits=unbounded, verify=verify, trust_env=False)

    async def aclose(self) -> None:
        """Close them."""
        await self.http.aclose()
        await self.probe.aclose()


class Peers:
    """Asks other workers, one hop: a worker that is asked answers for itself or refuses."""

    def __init__(
        self,
        shards: Shards,
        owners: Callable[[], Mapping[int, str]],
        urls: Callable[[], Sequence[str]],
        own: str,
        trust: PeerTrust | None = None,
    ) -> None:
        """`owners` returns the URL of each partition's worker, `urls` those of all, as the group last said."""
        self.suspect: Callable[[str], None] = lambda _: None
        """Is called with the URL of a worker that could not be connected to."""
        self.reached: Callable[[str], None] = lambda _: None
        """Is called with the URL of a worker that has answered."""
        self._shards = shards
        self._owners = owners
        self._urls = urls
        self._own = own.rstrip("/")
        self._trust = trust or PeerTrust(PeerHosts.beside(own))
        self._connections = Connections(self._context())
        self._former: list[Connections] = []

    async def aclose(self) -> None:
        """Close the connections."""
        for connections in (self._connections, *self._former):
            await connections.aclose()

    def _context(self) -> ssl.SSLContext | None:
        return None if self._trust.tls is None else self._trust.tls.context

    def _current(self) -> Connections:
        """Return the connections, new ones after a certificate was renewed; running requests keep the old ones."""
        if self._connections.context is not (context := self._context()):
            self._former.append(self._connections)
            self._connections = Connections(context)
        return self._connections

    def owner(self, partition: int) -> str | None:
        """Return the URL of the worker that has a partition, None for this one. Raises NotHeld while none holds it."""
        if partition in self._shards.assignment.shards:
            return None
        url = self._owners().get(partition, self._own).rstrip("/")
        if url == self._own:
            self._shards.at(partition)
        return url

    def unanswered(self, partitions: Iterable[int]) -> PeerUnavailable:
        """Return the error that says why nobody answers for partitions."""
        if (hindered := first_hindered(partitions, self._shards.assignment.hindrances)) is not None:
            return PeerUnavailable(str(hindered))
        return PeerUnavailable("partitions are moving between workers: ask again in a moment")

    def unowned(self) -> list[int]:
        """Return the partitions that move: neither held here nor known to be another worker's."""
        owners, held = self._owners(), set(self._shards.held())
        elsewhere = {partition for partition, url in owners.items() if url.rstrip("/") != self._own}
        return sorted(set(range(self._shards.partitions)) - held - elsewhere)

    def others(self) -> list[str]:
        """Return the URLs of all other workers."""
        return [url for each in self._urls() if (url := each.rstrip("/")) != self._own]

    def knows(self, url: str) -> bool:
        """Return whether another worker of the group is reached by a URL."""
        return url.rstrip("/") in self.others()

    async def send(
        self,
        url: str,
        method: str,
        target: str,
        *,
        body: bytes,
        headers: Mapping[str, str],
        seconds: float | None = ANSWER_SECONDS,
        partition: int | None = None,
    ) -> httpx.Response:
        """Forward a request and return the response, whatever its status. Raises PeerUnavailable.

        A response of lines, or a shard's file, is not read yet: the caller reads it as it comes, and closes it.
        A frozen worker is given up after PROBE_AFTER_SECONDS + LIVE_SECONDS, however long answers may take. A request
        about a partition is given up with PartitionMoved as soon as the group has given the partition to another one.
        """
        if (refusal := self._trust.refusal(url)) is not None:
            raise PeerUnavailable(refusal)
        connections = self._current()
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        headers = {**headers, **telemetry.outgoing()}
        request = connections.http.build_request(method, url + target, content=body, headers=headers, timeout=timeout)
        self._trust.mark(request, url, self._own)
        sending = asyncio.ensure_future(_response(connections.http, request))
        probing: asyncio.Future[NoReturn] | None = None
        try:
            if not (await asyncio.wait({sending}, timeout=PROBE_AFTER_SECONDS))[0]:
                probing = asyncio.ensure_future(self._probe(connections, url))
                probing.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody asks it
                either: set[asyncio.Future[Any]] = {sending, probing}
                while not (await asyncio.wait(either, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED))[0]:
                    if partition is not None and self._owners().get(partition, url).rstrip("/") != url:
                        raise PartitionMoved(f"partition {partition} has left the worker at {url}: ask again")
                if not sending.done():
                    probing.result()
            response = sending.result()
        except httpx.TransportError as error:
            if isinstance(error, httpx.ConnectError):
                self.suspect(url)
            detail = f"the worker at {url} does not answer ({type(error).__name__}): ask again in a moment"
            raise PeerUnavailable(detail) from error
        else:
            self.reached(url)
            return response
        finally:
            sending.cancel()
            if probing is not None:
                probing.cancel()

    async def _probe(self, connections: Connections, url: str) -> NoReturn:
        """Ask a worker again and again whether it lives. Raises httpx.TransportError when it does not say so."""
        while True:
            probe = connections.probe.build_request("GET", f"{url}/health/live")
            self._trust.mark(probe, url, self._own)
            await _response(connections.probe, probe)
            await asyncio.sleep(PROBE_AFTER_SECONDS)

    async def ask(self, url: str, target: str, body: object, seconds: float | None = ANSWER_SECONDS) -> dict[str, Any]:
        """Ask a worker for JSON. Raises PeerUnavailable, also when it refuses, with its own words.

        Raises RecordTooLarge where it does: a repeat would be refused again.
        """
        headers = {"content-type": "application/json"}
        response = await self.send(url, "POST", target, body=orjson.dumps(body), headers=headers, seconds=seconds)
        if response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise RecordTooLarge(_detail(response))
        if not response.is_success:
            raise PeerUnavailable(f"the worker at {url} answers {response.status_code}: {_detail(response)}")
        answer: dict[str, Any] = response.json()
        return answer

    async def ask_all(self, target: str, body: object, seconds: float | None) -> list[WorkerAnswer]:
        """Ask all others for their answers about the partitions that they hold. Raises PeerUnavailable."""
        others = self.others()
        asking = [self.ask(url, target, body, seconds) for url in others]
        answers = zip(others, await asyncio.gather(*asking), strict=True)
        return [
            WorkerAnswer(frozenset(answer["partitions"]), answer["body"], url, answer.get("settings", {}))
            for url, answer in answers
        ]


def is_of_lines(response: httpx.Response) -> bool:
    """Return whether a response is one JSON object a line, of any length."""
    return str(response.headers.get("content-type", "")).startswith(LINES)


@asynccontextmanager
async def released(response: httpx.Response) -> AsyncGenerator[None, None]:
    """Close a response at the end, and take its stream from it, which knows it: neither is left to the collector."""
    try:
        yield
    finally:
        if "stream" in vars(response):  # else it was released before
            await response.aclose()
            del response.stream


async def _response(http: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    response = await http.send(request, stream=True)
    if not is_of_lines(response) and response.headers.get("content-type") != SHARD:
        async with released(response):
            await response.aread()
    return response


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200]
