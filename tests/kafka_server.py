"""Starts a real Apache Kafka for tests: one broker in one JVM (KRaft), from jars that `tools/engines.py` fetched."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

JARS = Path.home() / ".cache" / "mnemolog" / "kafka" / "lib"
START_S = 60
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}/data
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def is_installed() -> bool:
    """Say whether the jars are there."""
    return any(JARS.glob("kafka_2.13-*.jar"))


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


class KafkaServer:
    """One broker process."""

    def __init__(self, directory: Path, port: int) -> None:
        """Prepare, start nothing."""
        self.address = f"127.0.0.1:{port}"
        self._directory = directory
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Format the data directory if it is new, and return when the broker accepts connections."""
        properties = self._directory / "server.properties"
        if not properties.exists():
            properties.write_text(
                PROPERTIES.format(port=self._port, controller=self._port + 1, directory=self._directory)
            )
            cluster = _run("kafka.tools.StorageTool", "random-uuid").strip().splitlines()[-1]
            _run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties))
        output = (self._directory / "output.txt").open("ab")
        command = _java("-Xmx512m", "kafka.Kafka", str(properties))
        self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=self._directory)  # noqa: S603
        output.close()
        self._wait_for_connections()

    def stop(self) -> None:
        """Stop the broker, gracefully if it goes within ten seconds."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _wait_for_connections(self) -> None:
        process, deadline = self._process, time.monotonic() + START_S
        while time.monotonic() < deadline:
            if process is None or process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"Kafka did not start: {(self._directory / 'output.txt').read_text()[-2000:]}")


def _java(*arguments: str) -> list[str]:
    *options, main, argument = arguments
    return ["java", *options, "-cp", f"{JARS}/*", main, argument]


def _run(main: str, *arguments: str) -> str:
    command = ["java", "-cp", f"{JARS}/*", main, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
