"""Starts a real Weaviate for tests: one node in one process, which `tools/fetch_engines.py` built."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path.home() / ".cache" / "mnemolog" / "weaviate"
START_S = 90
PORTS = ("http", "gossip", "data", "grpc", "raft", "raft_internal")


def server() -> Path | None:
    """Return the program, None when it is not there."""
    return max(CACHE.glob("weaviate-server-*"), default=None)


def is_installed() -> bool:
    """Say whether the program is there."""
    return server() is not None


@contextmanager
def running_weaviate(directory: Path) -> Iterator[WeaviateServer]:
    """Run a node with its data in `directory` on free ports; the directory may be that of an earlier run."""
    one = WeaviateServer(directory)
    one.start()
    try:
        yield one
    finally:
        one.stop()


class WeaviateServer:
    """One node; it keeps its ports when it is started again."""

    def __init__(self, directory: Path) -> None:
        """Choose ports, start nothing."""
        self._directory = directory
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address as the settings spell it."""
        return f"weaviate://127.0.0.1:{self._ports['http']}?grpc={self._ports['grpc']}"

    @property
    def pid(self) -> int:
        """The process; it must be running."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Return when the node says that it is ready."""
        program = server()
        if program is None:
            raise RuntimeError(f"Weaviate is not in {CACHE}: run `make engines`")
        with (self._directory / "output.txt").open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                [str(program), "--scheme", "http", "--host", "127.0.0.1", "--port", str(self._ports["http"])],
                stdout=output,
                stderr=output,
                cwd=self._directory,
                env={**os.environ, **self._environment()},
            )
        self._wait_until_ready(self._process)

    def stop(self) -> None:
        """Stop the node, gracefully if it goes within ten seconds."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """End the node without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _environment(self) -> dict[str, str]:
        ports = self._ports
        return {
            "PERSISTENCE_DATA_PATH": str(self._directory / "data"),
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "CLUSTER_HOSTNAME": "node1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "CLUSTER_GOSSIP_BIND_PORT": str(ports["gossip"]),
            "CLUSTER_DATA_BIND_PORT": str(ports["data"]),
            "RAFT_PORT": str(ports["raft"]),
            "RAFT_INTERNAL_RPC_PORT": str(ports["raft_internal"]),
            "RAFT_JOIN": f"node1:{ports['raft']}",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "GRPC_PORT": str(ports["grpc"]),
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
        }

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        url = f"http://127.0.0.1:{self._ports['http']}/v1/.well-known/ready"
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(url, timeout=2) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"Weaviate did not start: {(self._directory / 'output.txt').read_text()[-2000:]}")
