"""An index adapter: what settings, worker, doctor and chart need to know of one index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from projections.index.protocol import Index, LoadEntries


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """The settings that an index is made from."""

    url: str
    """`MNEMOLOG_INDEX`, which the adapter's `parse` has accepted."""
    secret: str | None = field(repr=False)
    """The value of the setting that the adapter's `secret` names; None where it is unset, or the adapter has none."""
    partitions: int
    """How many partitions there are: the same for all workers, and it never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAdapter:
    """One entry of the registry. Making and importing it connects to nothing and imports no client."""

    title: str
    """What a person calls it: `Weaviate`."""
    schemes: tuple[str, ...]
    """The URL schemes of `MNEMOLOG_INDEX` that choose it; () for one in this process, which its title alone chooses."""
    usage: str
    """What to write into `MNEMOLOG_INDEX`: `weaviate://host:8080?grpc=50051, or weaviates:// for TLS`.

    Up to the first comma it is a URL that `parse` reads.
    """
    parse: Callable[[str], object]
    """Reads the URL. Raises ValueError, whose message goes on after `MNEMOLOG_INDEX='…'`."""
    secret: str | None
    """The field of Settings that has its key; None: it takes none."""
    package: str | None
    """The distribution in pyproject.toml that has its client; None: it needs none."""
    extra: str | None = None
    """The extra of mnemolog that brings the package; None: it is installed with mnemolog, or by who adds the index."""
    make: Callable[[IndexConfig, LoadEntries], Index]
    """Makes the index, importing its client. Connects at first use, and raises nothing of the server's."""
    probe: Callable[[IndexConfig], Awaitable[str]] | None
    """Reaches the server, changing nothing there, and returns its name and version: `Weaviate 1.35.2`.

    Raises IndexUnavailable, whose message names the address. None for one in this process.
    """

    @property
    def advice(self) -> str:
        """What to do when the probe fails."""
        secret = "" if self.secret is None else f" or MNEMOLOG_{self.secret.upper()}"
        return f"start {self.title}, or correct MNEMOLOG_INDEX{secret}"
