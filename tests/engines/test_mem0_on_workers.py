"""mem0's own clients on two workers with Kafka and Weaviate: the one that is asked has half of the users."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from contract.integrations.mem0_suite import Mem0Suite
from engines.several import two_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.weaviate_server import WeaviateServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> Iterator[str]:
    """Run two workers over a fresh Kafka, their index in Weaviate, and yield the URL of one of them."""
    group = two_workers(tmp_path_factory.mktemp("mem0"), weaviate.url, EXTRACTOR="rules")
    with asyncio.Runner() as runner:
        several = runner.run(group.__aenter__())
        yield several.workers[1].url
        runner.run(group.__aexit__(None, None, None))


class TestOnWorkers(Mem0Suite):
    """On Kafka and Weaviate."""
