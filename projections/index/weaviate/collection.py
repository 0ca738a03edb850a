"""The collection in Weaviate: reached, made where it is missing, one generation of it behind the alias `Memory`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

import httpx
import weaviate
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.classes.init import AdditionalConfig, Auth, GrpcConfig, Timeout
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from projections.index.protocol import IndexChanged, IndexUnavailable
from projections.index.weaviate.errors import sentence
from projections.index.weaviate.objects import COLUMNS
from projections.index.weaviate.readiness import READY_SECONDS, Outages, WeaviateReadiness

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from weaviate.collections.collection import CollectionAsync

    from projections.index.weaviate.address import WeaviateAddress

ALIAS: Final = "Memory"
SEARCH_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 30.0
PATIENCE_SECONDS: Final = 0.5
_EXHAUSTIVE: Final = 1_000_000
"""Up to so many memories of a user every vector is compared and the graph is not asked: the answer is exact."""
_LEAST_GRAPH: Final = 4
LAST_PROPERTY: Final = "copy"
"""The property that was added last: a collection without it is of an earlier version."""
_BUILTIN: Final = 512
"""Dimensions of the built-in embedder: a collection must have one vector index from the start."""
_SOON: Final = [(f"grpc.{n}_reconnect_backoff_ms", ms) for n, ms in (("initial", 500), ("min", 2000), ("max", 1000))]
"""Else a channel that failed for long fails for two more minutes; `min` is how long an attempt itself may take."""
_T = TypeVar("_T")


class WeaviateCollection:
    """One generation, or with none named the one that the alias names. Connects at first use."""

    def __init__(self, address: WeaviateAddress, api_key: str | None, generation: int | None = None) -> None:
        """`api_key`: None where Weaviate lets everybody in."""
        self.address = address
        self.api_key = api_key
        self.dimensions: set[int] = set()
        """Lengths of vectors that there is an index for, as far as is known here."""
        self.identity = ""
        """What tells the contents of this collection, and of the generations built beside it, from those of others."""
        self._name = ALIAS if generation is None else name_of(generation)
        self._opening = asyncio.Lock()
        self._is_open = False
        self._in_doubt = False
        self._readiness = WeaviateReadiness(address, api_key)
        self._outages = Outages(address) if generation is None else None
        """None for one that is built beside: whether it answers, the one that is searched says."""
        logging.getLogger("weaviate-client").setLevel(logging.WARNING)  # it tells of each repetition, in several lines
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
                grpc_config=GrpcConfig(channel_options=_SOON),
            ),
            skip_init_checks=True,  # they ask the package index whether there is a newer client
        )

    def forget(self) -> None:
        """Look again, at the next use, at which collection the alias names."""
        self._is_open = False

    async def close(self) -> None:
        """Close the connections."""
        await self._readiness.close()
        await self._client.close()

    async def check(self) -> None:
        """Raise IndexUnavailable unless Weaviate is ready, and the collection there: one that is gone is made anew."""
        try:
            await self.open()
            await self._be_ready()
            with contextlib.suppress(IndexChanged):
                await self.be_the_same()
            await self.open()
        except IndexUnavailable as error:
            self._is_away(error)
            raise
        if self._outages is not None:
            self._outages.answers()

    async def be_the_same(self) -> None:
        """Raise IndexChanged when it is another collection than was opened, or none: the next use opens that."""
        if await self.reach(self._identity_now(), READY_SECONDS) != self.identity:
            self._is_open = False
            raise IndexChanged(f"{self.address} has lost what it held, and is filled anew: try again")

    async def version(self) -> str:
        """Return Weaviate's version, reaching both its ports and making nothing. Raises IndexUnavailable."""
        await self.reach(self._client.connect(), READY_SECONDS)
        opening = asyncio.open_connection(self.address.host, self.address.grpc)
        _, writer = await self.reach(opening, READY_SECONDS)
        writer.close()
        return str((await self.reach(self._client.get_meta(), READY_SECONDS)).get("version"))

    async def open(self) -> CollectionAsync:
        """Return the collection, connecting and making it where that is still to be done. Raises IndexUnavailable."""
        if self._in_doubt and self._is_open:
            await self._be_ready()
        if not self._is_open:
            async with self._opening:
                if not self._is_open:
                    try:
                        await self.reach(self._make(), WRITE_SECONDS)
                    except IndexUnavailable as error:
                        self._is_away(error)
                        raise
                    self._is_open = True
        return self._client.collections.get(self._name)

    async def reach(self, answer: Awaitable[_T], seconds: float | None) -> _T:
        """Await an answer. Raises IndexUnavailable; then the next call asks first whether Weaviate is ready.

        The client repeats by itself, for a minute, what could not connect. So what takes long is asked about, and
        given up where nobody is there.
        """
        asking = asyncio.ensure_future(answer)
        try:
            async with asyncio.timeout(seconds):
                if self._is_open and not (await asyncio.wait({asking}, timeout=PATIENCE_SECONDS))[0]:
                    await self._be_ready()
                return await asking
        except TimeoutError:
            self._in_doubt = True
            raise IndexUnavailable(f"{self.address} does not answer within {seconds:.0f} s") from None
        except (WeaviateBaseError, httpx.HTTPError, OSError) as error:
            self._in_doubt = True
            raise IndexUnavailable(f"{self.address}: {sentence(error)}") from error
        finally:
            asking.cancel()

    async def _be_ready(self) -> None:
        self._in_doubt = True
        if (trouble := await self._readiness.trouble()) is not None:
            raise IndexUnavailable(f"{self.address}: {trouble}")
        self._in_doubt = False

    def _is_away(self, error: IndexUnavailable) -> None:
        if self._outages is not None:
            self._outages.away(error)

    async def make_room(self, dimensions: Iterable[int]) -> None:
        """See that there is a vector index for each length. Raises IndexUnavailable."""
        for wanted in set(dimensions) - self.dimensions:
            collection = await self.open()
            with contextlib.suppress(IndexUnavailable):  # another worker may have been first
                await self.reach(collection.config.add_vector(vector_config=_vectors(wanted)), WRITE_SECONDS)
            await self.reach(self._look_at_vectors(), WRITE_SECONDS)
            if wanted not in self.dimensions:
                raise IndexUnavailable(f"{self.address} makes no room for vectors of {wanted} dimensions")

    async def generations(self) -> tuple[int, list[int]]:
        """Return which generation the alias names, and all that there are. Raises IndexUnavailable."""
        await self.open()
        names = await self.reach(self._client.collections.list_all(simple=True), WRITE_SECONDS)
        alias = await self.reach(self._client.alias.get(alias_name=ALIAS), WRITE_SECONDS)
        if alias is None:
            raise IndexUnavailable(f"{self.address} has lost its alias {ALIAS}")
        return _generation(alias.collection), sorted(_generation(n) for n in names if n.startswith(f"{ALIAS}_v"))

    async def activate(self, generation: int) -> None:
        """Let the alias name a generation that there is, for every worker at once. Raises IndexUnavailable."""
        await self.open()
        moved = self._client.alias.update(alias_name=ALIAS, new_target_collection=name_of(generation))
        if not await self.reach(moved, WRITE_SECONDS):
            raise IndexUnavailable(f"{self.address} has no alias {ALIAS}")
        self._is_open = False  # the other one may have other vectors

    async def drop(self, generation: int) -> None:
        """Delete a generation with everything in it. Raises IndexUnavailable."""
        await self.open()
        await self.reach(self._client.collections.delete(name_of(generation)), WRITE_SECONDS)
        self._is_open = False

    async def _make(self) -> None:
        await self._client.connect()
        alias = await self._client.alias.get(alias_name=ALIAS)
        # an alias outlives its collection; what is made anew here is empty, and says so by a new identity
        await self._create(name_of(1) if alias is None else alias.collection, str(uuid4()))
        if alias is None:
            with contextlib.suppress(WeaviateBaseError):  # another worker may have been first
                await self._client.alias.create(alias_name=ALIAS, target_collection=name_of(1))
            if not await self._client.alias.exists(alias_name=ALIAS):
                raise IndexUnavailable(f"{self.address} has no alias {ALIAS}, and none can be made")
        config = await self._client.collections.get(ALIAS).config.get()
        if LAST_PROPERTY not in {each.name for each in config.properties} or config.description is None:
            detail = f"its collection {config.name} is of an earlier mnemolog: delete it there, and it is filled anew"
            raise IndexUnavailable(f"{self.address}: {detail}")
        self.identity = config.description
        if self._name != ALIAS:
            await self._create(self._name, self.identity)
        await self._look_at_vectors()

    async def _identity_now(self) -> str | None:
        """Return the identity of what the alias names, None where that is not there."""
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
                properties=_schema(),
                vector_config=[_vectors(_BUILTIN)],
                multi_tenancy_config=Configure.multi_tenancy(
                    enabled=True, auto_tenant_creation=True, auto_tenant_activation=True
                ),
            )
        except WeaviateBaseError:
            if not await self._client.collections.exists(name):  # else another worker was first
                raise

    async def _look_at_vectors(self) -> None:
        config = await self._client.collections.get(self._name).config.get()
        self.dimensions = {int(name.removeprefix("d")) for name in config.vector_config or {}}


def name_of(generation: int) -> str:
    """Return the name of a generation's collection."""
    return f"{ALIAS}_v{generation}"


def vector_name(dimensions: int) -> str:
    """Return the name of the vector index for vectors of a length: Weaviate's must all be equally long."""
    return f"d{dimensions}"


async def unless_there_is_no_tenant(answer: Awaitable[_T], empty: _T) -> _T:
    """Return the answer; `empty` where nobody of the partition has been put yet, or in a collection made anew."""
    try:
        return await answer
    except WeaviateBaseError as error:
        if "tenant not found" in str(error) or "does not have named vector" in str(error):
            return empty
        raise


def _generation(name: str) -> int:
    return int(name.removeprefix(f"{ALIAS}_v"))


def _vectors(dimensions: int) -> Any:  # noqa: ANN401 - the client's own, private type
    return Configure.Vectors.self_provided(
        name=vector_name(dimensions),
        vector_index_config=Configure.VectorIndex.hnsw(
            distance_metric=VectorDistances.COSINE,
            flat_search_cutoff=_EXHAUSTIVE,
            max_connections=_LEAST_GRAPH,
            ef_construction=_LEAST_GRAPH,
        ),
    )


def _schema() -> list[Property]:
    def text(name: str, *, filterable: bool = True) -> Property:
        return Property(
            name=name,
            data_type=DataType.TEXT,
            tokenization=Tokenization.FIELD,
            index_filterable=filterable,
            index_searchable=False,
        )

    return [
        text("owner"),
        text("memory_id"),
        text("embedding_model"),
        *map(text, COLUMNS),
        Property(name="version", data_type=DataType.INT, index_filterable=False),
        Property(name=LAST_PROPERTY, data_type=DataType.INT, index_filterable=False),
        Property(name="occurred_us", data_type=DataType.INT, index_filterable=False, index_range_filters=True),
    ]
