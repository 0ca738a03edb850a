"""The registry's entry of the embedded index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.index.adapter import IndexAdapter, IndexConfig

if TYPE_CHECKING:
    from projections.index.protocol import Index, LoadEntries


def _make(_config: IndexConfig, load: LoadEntries) -> Index:
    from projections.index.embedded.index import EmbeddedIndex  # noqa: PLC0415 - settings read the registry, not numpy

    return EmbeddedIndex(load)


EMBEDDED: Final = IndexAdapter(
    title="embedded",
    schemes=(),
    usage="embedded",
    parse=str,
    secret=None,
    package=None,
    make=_make,
    probe=None,
)
