"""The schema in Weaviate: names of collections and vector indexes, and the properties of an object."""

from __future__ import annotations

from typing import Any, Final

from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances

from projections.index.weaviate.objects import COLUMNS

ALIAS: Final = "Memory"
LAST_PROPERTY: Final = "copy"
"""The property that was added last: a collection without it is of an earlier version."""
_EXHAUSTIVE: Final = 1_000_000
"""Up to this many memories of a user, every vector is compared instead of searching the graph: the answer is exact."""
_LEAST_GRAPH: Final = 4


def collection_name(generation: int) -> str:
    """Return the name of a generation's collection."""
    return f"{ALIAS}_v{generation}"


def vector_name(dimensions: int) -> str:
    """Return the name of the vector index for a length: in Weaviate, all vectors of an index have the same length."""
    return f"d{dimensions}"


def generation_of(name: str) -> int:
    """Return the generation of a collection's name."""
    return int(name.removeprefix(f"{ALIAS}_v"))


def vector_index(dimensions: int) -> Any:  # noqa: ANN401 - the client's own, private type
    """Return the vector index for vectors of a length."""
    return Configure.Vectors.self_provided(
        name=vector_name(dimensions),
        vector_index_config=Configure.VectorIndex.hnsw(
            distance_metric=VectorDistances.COSINE,
            flat_search_cutoff=_EXHAUSTIVE,
            max_connections=_LEAST_GRAPH,
            ef_construction=_LEAST_GRAPH,
        ),
    )


def property_schema() -> list[Property]:
    """Return the names and types of an object's properties."""

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


def is_generation(name: str) -> bool:
    """Return whether a collection is a generation of the index."""
    return name.startswith(f"{ALIAS}_v")
