"""A collection in Weaviate: one generation of the index, created if missing. The alias `Memory` names one of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

import httpx
import weaviate
from weaviate.classes.config import Configure
from weaviate.classes.init import AdditionalConfig, Auth, GrpcConfig, Timeout
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from projections.index.protocol import IndexChanged, IndexUnavailable
from projections.index.remote.outages import Outages
from projections.index.remote.readiness import READY_SECONDS, HttpReadiness
from projections.index.weaviate.failure import sentence
from projections.index.weaviate.schema import (
    ALIAS,
    LAST_PROPERTY,
    collection_name,
    generation_of,
    is_generation,
    property_schema,
    vector_index,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from weaviate.collections.collection import CollectionAsync

    from projections.index.weaviate.address import WeaviateAddress

SEARCH_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 30.0
PROBE_AFTER_SECONDS: Final = 0.5
_BUILTIN: Final = 512
"""The dimensions of the built-in embedder: a collection must have one vector index from the start."""
_RECONNECT: Final = [
    (f"grpc.{n}_reconnect_backoff_ms", ms) for n, ms in (("initial", 500), ("min", 2000), ("max", 1000))
]
"""Otherwise a channel that failed for long fails for two more minutes; `min` is the time limit of an attempt."""
_T = TypeVar("_T")


class WeaviateCollection:
    """One generation; by default the one that the alias names. Connects at first use."""

    def __init__(self, address: WeaviateAddress, api_key: str | None, generation: int | None = None) -> None:
        self.address = address
        self.api_key = api_key
        self.dimensions: set[int] = set()
        """Lengths of vectors known to have an index. Another worker may have added more: only `make_room` reads it."""
        self.identity = ""
        """The identity of the contents of this collection, and of the generations built from the same shards."""
        self._name = ALIAS if generation is None else collection_name(generation)
        self._open_lock = asyncio.Lock()
        self._is_open = False
        self._in_doubt = False
        self._readiness = HttpReadiness(address.ready_url, {"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._outages = Outages(address) if generation is None else None
        """None for a generation that is being built: the searched one logs whether the server answers."""
        logging.getLogger("weaviate-client").setLevel(logging.WARNING)  # it logs each retry, in several lines
        self._client = weaviate.use_async_with_custom(
            http_host=address.host,
            http_port=address.http,
            http_secure=address.secure,
            grpc_host=address.host,
            grpc_port=address.grpc,
            grpc_secure=address.secure,
            auth_credentials=Auth.api_key(api_key) if api_key else None,
            additional_config=AdditionalConfig(
                timeout=Timeout(init=READY_SECONDS, query=WRITE_SECONDS, insert=WRITE_SECONDS),
                grpc_config=GrpcConfig(channel_options=_RECONNECT),
            ),
            skip_init_checks=True,  # they ask the package index whether there is a newer client
        )

    def forget(self) -> None:
        """Read again, at the next use, which collection the alias names."""
        self._is_open = False

    async def close(self) -> None:
        """Close the connections."""
        await self._readiness.close()
        await self._client.close()

    async def check(self) -> None:
        """Raise IndexUnavailable unless Weaviate is ready. A missing collection is created again."""
        try:
            await self.open()
            await self._check_ready()
            with contextlib.suppress(IndexChanged):
                await self.check_identity()
            await self.open()
        except IndexUnavailable as error:
            self._note_outage(error)
            raise
        if self._outages is not None:
            self._outages.end()

    async def check_identity(self) -> None:
        """Raise IndexChanged if the collection is not the one that was opened; the next use opens the present one."""
        if await self.reach(self._identity_now(), READY_SECONDS) != self.identity:
            self._is_open = False
            raise IndexChanged(f"{self.address} has lost what it held, and is filled anew: try again")

    async def version(self) -> str:
        """Return Weaviate's version, reaching both its ports and changing nothing there. Raises IndexUnavailable."""
        await self.reach(self._client.connect(), READY_SECONDS)
        opening = asyncio.open_connection(self.address.host, self.address.grpc)
        _, writer = await self.reach(opening, READY_SECONDS)
        writer.close()
        return str((await self.reach(self._client.get_meta(), READY_SECONDS)).get("version"))

    async def open(self) -> CollectionAsync:
        """Return the collection, after connecting and creating it if necessary. Raises IndexUnavailable."""
        if self._in_doubt and self._is_open:
            await self._check_ready()
        if not self._is_open:
            async with self._open_lock:
                if not self._is_open:
                    try:
                        await self.reach(self._make(), WRITE_SECONDS)
                    except IndexUnavailable as error:
                        self._note_outage(error)
                        raise
                    self._is_open = True
        return self._client.collections.get(self._name)

    async def reach(self, call: Awaitable[_T], seconds: float | None) -> _T:
        """Await a call of the client. Raises IndexUnavailable; then the next call checks first that Weaviate is ready.

        The client retries a failed connection for a minute. So if a call takes longer than PROBE_AFTER_SECONDS,
        readiness is checked meanwhile, and the call is given up if the server does not answer.
        """
        request = asyncio.ensure_future(call)
        try:
            async with asyncio.timeout(seconds):
                if self._is_open and not (await asyncio.wait({request}, timeout=PROBE_AFTER_SECONDS))[0]:
                    await self._check_ready()
                return await request
        except TimeoutError:
            self._in_doubt = True
            raise IndexUnavailable(f"{self.address} does not answer within {seconds:.0f} s") from None
        except (WeaviateBaseError, httpx.HTTPError, OSError) as error:
            self._in_doubt = True
            raise IndexUnavailable(f"{self.address}: {sentence(error)}") from error
        finally:
            request.cancel()

    async def _check_ready(self) -> None:
        self._in_doubt = True
        if (trouble := await self._readiness.trouble()) is not None:
            raise IndexUnavailable(f"{self.address}: {trouble}")
        self._in_doubt = False

    def _note_outage(self, error: IndexUnavailable) -> None:
        if self._outages is not None:
            self._outages.begin(error)

    async def make_room(self, dimensions: Iterable[int]) -> None:
        """Create a vector index for each length that has none. Raises IndexUnavailable."""
        for wanted in set(dimensions) - self.dimensions:
            collection = await self.open()
            with contextlib.suppress(IndexUnavailable):  # another worker may have been first
                await self.reach(collection.config.add_vector(vector_config=vector_index(wanted)), WRITE_SECONDS)
            await self.reach(self._read_dimensions(), WRITE_SECONDS)
            if wanted not in self.dimensions:
                raise IndexUnavailable(f"{self.address} makes no room for vectors of {wanted} dimensions")

    async def generations(self) -> tuple[int, list[int]]:
        """Return the generation that the alias names, and all generations. Raises IndexUnavailable."""
        await self.open()
        names = await self.reach(self._client.collections.list_all(simple=True), WRITE_SECONDS)
        alias = await self.reach(self._client.alias.get(alias_name=ALIAS), WRITE_SECONDS)
        if alias is None:
            raise IndexUnavailable(f"{self.address} has lost its alias {ALIAS}")
        return generation_of(alias.collection), sorted(generation_of(name) for name in names if is_generation(name))

    async def activate(self, generation: int) -> None:
        """Point the alias to an existing generation, for every worker. Raises IndexUnavailable."""
        await self.open()
        moved = self._client.alias.update(alias_name=ALIAS, new_target_collection=collection_name(generation))
        if not await self.reach(moved, WRITE_SECONDS):
            raise IndexUnavailable(f"{self.address} has no alias {ALIAS}")
        self._is_open = False  # the other one may have other vectors

    async def drop(self, generation: int) -> None:
        """Delete a generation with everything in it. Raises IndexUnavailable."""
        await self.open()
        await self.reach(self._client.collections.delete(collection_name(generation)), WRITE_SECONDS)
        self._is_open = False

    async def _make(self) -> None:
        await self._client.connect()
        alias = await self._client.alias.get(alias_name=ALIAS)
        # An alias outlives its collection. The new collection is empty, and has a new identity so that workers notice.
        await self._create(collection_name(1) if alias is None else alias.collection, str(uuid4()))
        if alias is None:
            with contextlib.suppress(WeaviateBaseError):  # another worker may have been first
                await self._client.alias.create(alias_name=ALIAS, target_collection=collection_name(1))
            if not await self._client.alias.exists(alias_name=ALIAS):
                raise IndexUnavailable(f"{self.address} has no alias {ALIAS}, and none can be made")
        config = await self._client.collections.get(ALIAS).config.get()
        if LAST_PROPERTY not in {each.name for each in config.properties} or config.description is None:
            detail = f"its collection {config.name} is of an earlier mnemolog: delete it there, and it is filled anew"
            raise IndexUnavailable(f"{self.address}: {detail}")
        self.identity = config.description
        if self._name != ALIAS:
            await self._create(self._name, self.identity)
        await self._read_dimensions()

    async def _identity_now(self) -> str | None:
        """Return the identity of the collection that the alias names, None if it does not exist."""
        try:
            return (await self._client.collections.get(ALIAS).config.get()).description
        except UnexpectedStatusCodeError as error:
            if error.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY):
                return None
            raise

    async def _create(self, name: str, identity: str) -> None:
        if await self._client.collections.exists(name):
            return
        try:
            await self._client.collections.create(
                name,
                description=identity,
                properties=property_schema(),
                vector_config=[vector_index(_BUILTIN)],
                multi_tenancy_config=Configure.multi_tenancy(
                    enabled=True, auto_tenant_creation=True, auto_tenant_activation=True
                ),
            )
        except WeaviateBaseError:
            if not await self._client.collections.exists(name):  # else another worker was first
                raise

    async def _read_dimensions(self) -> None:
        config = await self._client.collections.get(self._name).config.get()
        self.dimensions = {int(name.removeprefix("d")) for name in config.vector_config or {}}


async def unless_missing(call: Awaitable[_T], empty: _T) -> _T:
    """Return the answer; `empty` if the partition, or vectors of the length, have not been put yet."""
    try:
        return await call
    except WeaviateBaseError as error:
        if "tenant not found" in str(error) or "does not have named vector" in str(error):
            return empty
        raise
