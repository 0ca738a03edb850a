"""Starts a real Apache Kafka for tests: one broker in one JVM (KRaft), from jars that `tools/engines.py` fetched."""

from __future__ import annotations

import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

JARS = Path.home() / ".cache" / "mnemolog" / "kafka" / "lib"
START_S = 60
PROPERTIES = """
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
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
{more}
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

    def __init__(
        self,
        directory: Path,
        port: int,
        *,
        node: int = 1,
        controller: int | None = None,
        voters: str | None = None,
        more: str = "",
        format_options: tuple[str, ...] = (),
    ) -> None:
        """Prepare, start nothing. Without more a cluster by itself, whose controller has the next port.

        `voters` are the controllers of a larger cluster, as Kafka names them; `more` are further lines of its
        configuration, which win; `format_options` go to the tool that formats the data directory.
        """
        controller = controller or port + 1
        self.address = f"127.0.0.1:{port}"
        self._directory = directory
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._format_options = format_options
        self._properties = PROPERTIES.format(
            node=node,
            port=port,
            controller=controller,
            voters=voters or f"{node}@127.0.0.1:{controller}",
            directory=directory,
            more=more,
        )

    def start(self) -> None:
        """Format the data directory if it is new, and return when the broker accepts connections."""
        self.launch()
        self.wait_for_connections()

    def launch(self, cluster: str | None = None) -> None:
        """Start without waiting; brokers of a larger cluster share its id, and wait for each other."""
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "server.properties"
        if not properties.exists():
            properties.write_text(self._properties)
            cluster = cluster or random_cluster()
            _run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties), *self._format_options)
        output = (self._directory / "output.txt").open("ab")
        command = _java("-Xmx512m", "kafka.Kafka", str(properties))
        self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=self._directory)  # noqa: S603
        output.close()

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Send its process a signal: SIGSTOP lets it stand still, SIGCONT go on."""
        assert self._process is not None
        self._process.send_signal(number)

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

    def wait_for_connections(self) -> None:
        """Return when the broker accepts connections. Raises RuntimeError."""
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


def random_cluster() -> str:
    """Return an id for a new cluster, as Kafka spells UUIDs."""
    return urlsafe_b64encode(uuid4().bytes).decode().rstrip("=").replace("-", "a").replace("_", "b")


def _java(*arguments: str) -> list[str]:
    *options, main, argument = arguments
    return ["java", *options, "-cp", f"{JARS}/*", main, argument]


def _run(main: str, *arguments: str) -> None:
    command = ["java", "-cp", f"{JARS}/*", main, *arguments]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
