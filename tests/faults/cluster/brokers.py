"""Real Kafka brokers that a row can kill and start again: one, or three of which any one may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.kafka_server import KafkaServer, random_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from faults.cluster.ports import Ports

CLUSTER = """
default.replication.factor={replicas}
offsets.topic.replication.factor={replicas}
min.insync.replicas={in_sync}
unclean.leader.election.enable=false
broker.session.timeout.ms=6000
"""
BY_A_PROXY = """
listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{behind},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{proxy}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT
"""
"""A listener behind a proxy: who comes through the proxy is told to come through it again."""


class Brokers:
    """A cluster of one broker, or of several that each have every record; all but one of them must have it."""

    def __init__(self, folder: Path, ports: Ports, number: int = 1) -> None:
        """Take ports, start nothing. A broker alone can also be reached by port `proxy`, if that leads to `behind`."""
        pairs = [(ports.take(), ports.take()) for _ in range(number)]
        voters = ",".join(f"{node}@127.0.0.1:{controller}" for node, (_, controller) in enumerate(pairs, 1))
        self.proxy, self.behind = ports.take(), ports.take()
        (port, controller), *_ = pairs
        listeners = {"address": f"127.0.0.1:{port}", "behind": self.behind, "controller": controller}
        more = BY_A_PROXY.format(**listeners, proxy=self.proxy)
        if number > 1:
            more = CLUSTER.format(replicas=number, in_sync=number - 1)
        self.servers = [
            KafkaServer(folder / f"broker-{node}", port, node=node, controller=controller, voters=voters, more=more)
            for node, (port, controller) in enumerate(pairs, 1)
        ]

    @property
    def addresses(self) -> list[str]:
        """Return `host:port` of each."""
        return [server.address for server in self.servers]

    def start(self) -> None:
        """Start all, and return when all accept connections."""
        cluster = random_cluster()
        for server in self.servers:
            server.launch(cluster)
        for server in self.servers:
            server.wait_for_connections()

    def stop(self) -> None:
        """End all of them; their data is thrown away with the folder."""
        for server in self.servers:
            server.kill()
