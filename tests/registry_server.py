"""Starts a real schema registry for tests: Apicurio in one JVM, in memory, fetched by `tools/fetch_engines.py`."""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from weaviate_server import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path.home() / ".cache" / "mnemolog" / "registry"
START_S = 60


def runner() -> Path | None:
    """Return the program, None when it is not there."""
    return max(CACHE.glob("*/apicurio-registry-app-*-runner.jar"), default=None)


def is_installed() -> bool:
    """Say whether the program is there."""
    return runner() is not None


@contextmanager
def running_registry(directory: Path) -> Iterator[RegistryServer]:
    """Run a registry with its output in `directory`, on a free port; it forgets everything when it stops."""
    one = RegistryServer(directory)
    one.start()
    try:
        yield one
    finally:
        one.stop()


class RegistryServer:
    """One registry; it keeps its port when it is started again."""

    def __init__(self, directory: Path) -> None:
        """Choose a port, start nothing."""
        self._directory = directory
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its Confluent-compatible interface is."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Return when it answers."""
        program = runner()
        if program is None:
            raise RuntimeError(f"the registry is not in {CACHE}: run `make engines`")
        options = [f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1"]
        with (self._directory / "registry.txt").open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                ["java", "-Xmx512m", *options, "-jar", str(program)],  # noqa: S607
                stdout=output,
                stderr=output,
                cwd=self._directory,
            )
        self._wait_for_answers(self._process)

    def stop(self) -> None:
        """Stop it, gracefully if it goes within ten seconds."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wait_for_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/subjects", timeout=2) as answer:  # noqa: S310 - of this server
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"the registry did not start: {(self._directory / 'registry.txt').read_text()[-2000:]}")
