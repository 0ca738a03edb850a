"""The registry's entry of Weaviate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.index.adapter import IndexAdapter, IndexConfig
from projections.index.weaviate.address import SCHEMES, USAGE, WeaviateAddress

if TYPE_CHECKING:
    from projections.index.protocol import Index, LoadEntries


def _make(config: IndexConfig, load: LoadEntries) -> Index:
    from projections.index.weaviate.index import WeaviateIndex  # noqa: PLC0415 - its client takes a second to import

    address = WeaviateAddress.parse(config.url)
    return WeaviateIndex(address, load, partitions=config.partitions, api_key=config.secret)


async def _probe(config: IndexConfig) -> str:
    from projections.index.weaviate.collection import WeaviateCollection  # noqa: PLC0415 - as above

    collection = WeaviateCollection(WeaviateAddress.parse(config.url), config.secret)
    try:
        return f"Weaviate {await collection.version()}"
    finally:
        await collection.close()


WEAVIATE: Final = IndexAdapter(
    title="Weaviate",
    schemes=SCHEMES,
    usage=USAGE,
    parse=WeaviateAddress.parse,
    secret="weaviate_api_key",  # noqa: S106 - the name of a setting
    package="weaviate-client",
    extra="weaviate",
    make=_make,
    probe=_probe,
)
