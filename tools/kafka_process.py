"""A Kafka broker in a process of its own: one JVM (KRaft), from the jars that `make engines` fetched."""

from __future__ import annotations

import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING
from uuid import uuid4

from fetch_engines import CACHE
from server_process import ServerProcess

if TYPE_CHECKING:
    from pathlib import Path

JARS = CACHE / "kafka" / "lib"
START_S = 180
"""Only a broker that hangs takes this long, or a machine that is very busy."""
LOOK_S = 0.1
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
    """Return whether the jars exist."""
    return any(JARS.glob("kafka_2.13-*.jar"))


class KafkaServer(ServerProcess):
    """One broker process; it keeps its ports and its data when it is started again."""

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
        """Prepare the broker, and start nothing. By default it is a cluster by itself, its controller on the next port.

        `voters` are the controllers of a larger cluster, as Kafka names them; `more` are further lines of its
        configuration, which take precedence; `format_options` are for the tool that formats the data directory.
        """
        controller = controller or port + 1
        self.address = f"127.0.0.1:{port}"
        self.node = node
        super().__init__(directory)
        self._port = port
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

    def launch(self, cluster: str | None = None, *, own_session: bool = False) -> None:
        """Start without waiting. The brokers of a larger cluster share its id, and wait for each other.

        In a session of its own the broker does not receive a terminal's Ctrl-C, so that only `stop` ends it.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "server.properties"
        if not properties.exists():
            self._format(properties, cluster or random_cluster())
        self._run(_java("-Xmx512m", "kafka.Kafka", str(properties)), own_session=own_session)

    def configure(self) -> None:
        """Write the configuration again if there is one, because the broker may have had other ports before."""
        properties = self._directory / "server.properties"
        if properties.exists():
            properties.write_text(self._properties)

    def _format(self, properties: Path, cluster: str) -> None:
        """Format the data directory. The configuration is written last, and so marks a directory as formatted."""
        beside = properties.with_suffix(".new")
        beside.write_text(self._properties)
        self._format_data(beside, cluster)
        beside.rename(properties)

    def _format_data(self, properties: Path, cluster: str) -> None:
        """Let Kafka's own tool format the data directory that a configuration names."""
        how = ("format", "--ignore-formatted", "-t", cluster, "-c", str(properties), *self._format_options)
        _run("kafka.tools.StorageTool", *how)

    def wait_for_connections(self) -> None:
        """Wait until the broker accepts connections. Raises RuntimeError if it ends or takes too long."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.is_running:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(LOOK_S)
        self.stop()
        raise RuntimeError(f"Kafka did not start: {self.output.read_text()[-2000:]}")


def random_cluster() -> str:
    """Return an id for a new cluster, as Kafka spells UUIDs."""
    return urlsafe_b64encode(uuid4().bytes).decode().rstrip("=").replace("-", "a").replace("_", "b")


def _java(*arguments: str) -> list[str]:
    *options, main, argument = arguments
    return ["java", *options, "-cp", f"{JARS}/*", main, argument]


def _run(main: str, *arguments: str) -> None:
    subprocess.run(["java", "-cp", f"{JARS}/*", main, *arguments], check=True, capture_output=True)
