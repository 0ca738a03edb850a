"""The index registry: every index that `MNEMOLOG_INDEX` can name. A new one is one more line."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from projections.index.embedded.adapter import EMBEDDED
from projections.index.weaviate.adapter import WEAVIATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from projections.index.adapter import IndexAdapter


class IndexRegistry:
    """Adapters by their URL schemes."""

    def __init__(self, *adapters: IndexAdapter) -> None:
        self._adapters = adapters

    def __iter__(self) -> Iterator[IndexAdapter]:
        return iter(self._adapters)

    def of(self, url: str) -> IndexAdapter:
        """Return the adapter that `MNEMOLOG_INDEX` names.

        Raises ValueError if there is none, if its URL cannot be parsed or if its package is not installed; the message
        continues the words `MNEMOLOG_INDEX='…'`.
        """
        try:
            adapter = self._named(url)
            adapter.parse(url)
        except ValueError as error:
            raise ValueError(f"{error}, or {EMBEDDED.usage}") from None
        if adapter.package is not None:
            try:
                version(adapter.package)
            except PackageNotFoundError:
                raise ValueError(f"needs the package {adapter.package}, which is not installed") from None
        return adapter

    @contextmanager
    def including(self, adapter: IndexAdapter) -> Iterator[None]:
        """Add one more adapter during the context, for a program or a test with an index of its own.

        It must be added before the settings that name it are built.
        """
        before = self._adapters
        self._adapters = (*before, adapter)
        try:
            yield
        finally:
            self._adapters = before

    def _named(self, url: str) -> IndexAdapter:
        scheme = urlsplit(url).scheme
        for adapter in self._adapters:
            if scheme in adapter.schemes or (not adapter.schemes and url == adapter.title):
                return adapter
        raise ValueError(f"must be {', or '.join(one.usage for one in self._adapters if one.schemes)}")


INDEXES: Final = IndexRegistry(EMBEDDED, WEAVIATE)
