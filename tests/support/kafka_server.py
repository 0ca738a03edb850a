"""Starts a real Apache Kafka for tests, as `make up-kafka` does."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import kafka_process
from kafka_process import JARS, is_installed, random_cluster
from support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["JARS", "KafkaServer", "is_installed", "random_cluster", "running_kafka"]

RUNNING: Final = "KAFKA_THAT_RUNS"
"""The variable that names a running broker to tests that another test runs."""
META, CHECKPOINT = "meta.properties", "bootstrap.checkpoint"
_formatted: Final[dict[str, bytes]] = {}
"""The files that Kafka's tool wrote into the first data directory of this process."""
CLEANS = "log.cleaner.backoff.ms=1000"
"""How often a broker looks for something to compact; the default is every 15 seconds."""


class KafkaServer(kafka_process.KafkaServer):
    """One broker process. Kafka's tool formats only the first one of a test process; the others copy its files."""

    def __init__(self, directory: Path, port: int, *, more: str = "", **options: Any) -> None:
        """Prepare the broker, and start nothing."""
        super().__init__(directory, port, more=f"{CLEANS}\n{more}", **options)

    def _format_data(self, properties: Path, cluster: str) -> None:
        if self._format_options:
            super()._format_data(properties, cluster)
            return
        data = self._directory / "data"
        if not _formatted:
            super()._format_data(properties, cluster)
            _formatted.update({name: (data / name).read_bytes() for name in (META, CHECKPOINT)})
            return
        data.mkdir()
        (data / CHECKPOINT).write_bytes(_formatted[CHECKPOINT])
        own = {"node.id": str(self.node), "cluster.id": cluster, "directory.id": random_cluster()}
        text = _formatted[META].decode()
        for name, value in own.items():
            text, count = re.subn(rf"(?m)^{re.escape(name)}=.*$", f"{name}={value}", text)
            assert count == 1, text
        (data / META).write_text(text)


@contextmanager
def running_kafka(directory: Path, port: int | None = None) -> Iterator[str]:
    """Run a broker with its data in `directory` on ports that no other test has; yield `host:port`.

    If the directory has a configuration already, `port` must be the port of that configuration.
    """
    free, controller = free_ports(2)
    server = KafkaServer(directory, port or free, controller=controller)
    server.start()
    try:
        yield server.address
    finally:
        server.stop()
