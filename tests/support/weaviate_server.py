"""Starts a real Weaviate for tests, as `make up-kafka` does, on free ports."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.free_ports import free_ports
from weaviate_process import CACHE, WeaviatePorts, WeaviateProcess, is_installed, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CACHE", "WeaviateServer", "is_installed", "running_weaviate", "server"]


@contextmanager
def running_weaviate(directory: Path) -> Iterator[WeaviateServer]:
    """Run a node with its data in `directory` on free ports; the directory may be that of an earlier run."""
    one = WeaviateServer(directory)
    one.start()
    try:
        yield one
    finally:
        one.stop()


class WeaviateServer(WeaviateProcess):
    """One node; it keeps its ports when it is started again."""

    def __init__(self, directory: Path) -> None:
        """Choose ports, and start nothing."""
        super().__init__(directory, WeaviatePorts(*free_ports(6)))
