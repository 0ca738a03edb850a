"""Starts a real Apache Kafka for tests, as `make up-kafka` does."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_process import JARS, KafkaServer, is_installed, random_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["JARS", "KafkaServer", "is_installed", "random_cluster", "running_kafka"]


@contextmanager
def running_kafka(directory: Path, port: int) -> Iterator[str]:
    """Run a broker with its data in `directory` on 127.0.0.1:`port` and the next port; yield `host:port`.

    The directory may be that of an earlier run: then the topics are as they were.
    """
    server = KafkaServer(directory, port)
    server.start()
    try:
        yield server.address
    finally:
        server.stop()
