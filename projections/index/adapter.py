"""An index adapter: everything that settings, worker, doctor and chart need to know about one index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from projections.index.protocol import Index, LoadEntries


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """The settings from which an index is created."""

    url: str
    """`MNEMOLOG_INDEX`, which the adapter's `parse` has accepted."""
    secret: str | None = field(repr=False)
    """The value of the setting that the adapter's `secret` names; None if it is unset, or the adapter has none."""
    partitions: int
    """The number of partitions: the same for all workers, and it never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAdapter:
    """One entry of the registry. Importing and creating it neither connects to a server nor imports a client."""

    title: str
    """The name of the index for people, such as `Weaviate`."""
    schemes: tuple[str, ...]
    """The URL schemes of `MNEMOLOG_INDEX` that select it; () for one in this process, which its title selects."""
    usage: str
    """The value for `MNEMOLOG_INDEX`: `weaviate://host:8080?grpc=50051, or weaviates:// for TLS`.

    Up to the first comma it is a URL that `parse` reads.
    """
    parse: Callable[[str], object]
    """Parses the URL. Raises ValueError, whose message continues the words `MNEMOLOG_INDEX='…'`."""
    secret: str | None
    """The field of Settings that has its key; None if it takes no key."""
    package: str | None
    """The distribution in pyproject.toml that has its client; None if it needs no client."""
    make: Callable[[IndexConfig, LoadEntries], Index]
    """Creates the index and imports its client. Connects at first use only, so it raises no error of the server."""
    probe: Callable[[IndexConfig], Awaitable[str]] | None
    """Reaches the server, changing nothing there, and returns its name and version: `Weaviate 1.35.2`.

    Raises IndexUnavailable, whose message names the address. None for one in this process.
    """

    @property
    def advice(self) -> str:
        """The remedy for a failed probe."""
        secret = "" if self.secret is None else f" or MNEMOLOG_{self.secret.upper()}"
        return f"start {self.title}, or correct MNEMOLOG_INDEX{secret}"
