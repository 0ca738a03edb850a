"""A node of Weaviate in a process of its own, from the program that `make engines` built."""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from fetch_engines import CACHE as ENGINES
from server_process import ServerProcess

if TYPE_CHECKING:
    from pathlib import Path

CACHE = ENGINES / "weaviate"
START_S = 180
"""Only a node that hangs takes this long, or a machine that is very busy."""
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class WeaviatePorts:
    """The ports of a node: `http` and `grpc` are for clients, the others for nodes of its cluster."""

    http: int
    gossip: int
    data: int
    grpc: int
    raft: int
    raft_internal: int


def server() -> Path | None:
    """Return the path of the program, None if it is not installed."""
    return max(CACHE.glob("weaviate-server-*"), default=None)


def is_installed() -> bool:
    """Return whether the program is installed."""
    return server() is not None


class WeaviateProcess(ServerProcess):
    """One node; it keeps its ports and its data when it is started again."""

    def __init__(self, directory: Path, ports: WeaviatePorts) -> None:
        """Take its folder, which may be that of an earlier run, and start nothing."""
        super().__init__(directory)
        self._ports = ports

    @property
    def url(self) -> str:
        """The address in the form of the settings."""
        return f"weaviate://127.0.0.1:{self._ports.http}?grpc={self._ports.grpc}"

    def start(self) -> None:
        """Start the node, and return when it is ready. Raises RuntimeError."""
        self.launch()
        self.wait_until_ready()

    def launch(self, *, own_session: bool = False) -> None:
        """Start without waiting. In a session of its own it does not receive a terminal's Ctrl-C."""
        program = server()
        if program is None:
            raise RuntimeError(f"Weaviate is not in {CACHE}: run `make engines`")
        self._directory.mkdir(parents=True, exist_ok=True)
        listens = ("--scheme", "http", "--host", "127.0.0.1", "--port", str(self._ports.http))
        self._run([str(program), *listens], env={**os.environ, **self._environment()}, own_session=own_session)

    def _environment(self) -> dict[str, str]:
        ports = self._ports
        return {
            "PERSISTENCE_DATA_PATH": str(self._directory / "data"),
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "CLUSTER_HOSTNAME": "node1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "CLUSTER_GOSSIP_BIND_PORT": str(ports.gossip),
            "CLUSTER_DATA_BIND_PORT": str(ports.data),
            "RAFT_PORT": str(ports.raft),
            "RAFT_INTERNAL_RPC_PORT": str(ports.raft_internal),
            "RAFT_JOIN": f"node1:{ports.raft}",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "GRPC_PORT": str(ports.grpc),
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
        }

    def wait_until_ready(self) -> None:
        """Wait until the node is ready. Raises RuntimeError if it ends or takes too long."""
        url = f"http://127.0.0.1:{self._ports.http}/v1/.well-known/ready"
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.is_running:
            try:
                with urllib.request.urlopen(url, timeout=2) as answer:
                    if answer.status == HTTPStatus.OK:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(LOOK_S)
        self.stop()
        raise RuntimeError(f"Weaviate did not start: {self.output.read_text()[-2000:]}")
