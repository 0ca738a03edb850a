"""Starts a real schema registry for tests: Apicurio in one JVM, in memory, which `tools/fetch_engines.py` fetched."""

from __future__ import annotations

import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import httpx
from support.free_ports import free_ports

CACHE = Path.home() / ".cache" / "mnemolog" / "registry"
START_S = 180
API = "/apis/ccompat/v7"


def program() -> Path | None:
    """Return the path of the program, None if it is not installed."""
    return max(CACHE.glob("*/apicurio-registry-app-*-runner.jar"), default=None)


def is_installed() -> bool:
    """Return whether the program is installed."""
    return program() is not None


class RegistryServer:
    """One registry. It keeps its port when it is started again, and its schemas only with `keeps`."""

    def __init__(self, directory: Path, *, keeps: bool = False) -> None:
        """Choose a port, and start nothing. With `keeps`, schemas and their ids are in a file instead of memory."""
        self._directory = directory
        self._storage = (f"-Dapicurio.datasource.url=jdbc:h2:file:{directory / 'kept'};WRITE_DELAY=0",) if keeps else ()
        [self._port] = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its Confluent-compatible API."""
        return f"http://127.0.0.1:{self._port}{API}"

    def start(self) -> None:
        """Start the registry, and return when it answers. Raises RuntimeError if it does not start."""
        jar = program()
        if jar is None:
            raise RuntimeError(f"the registry is not in {CACHE}: run `make engines`")
        listening = (f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1")
        command = ["java", "-Xmx512m", *listening, *self._storage, "-jar", str(jar)]
        with (self._directory / "registry.txt").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=jar.parent)  # noqa: S603
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/subjects", timeout=2):  # noqa: S310 - http, to ourselves
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"the registry did not start: {(self._directory / 'registry.txt').read_text()[-2000:]}")

    def clear(self) -> None:
        """Delete every subject permanently, one that others refer to after those. Raises RuntimeError."""
        with httpx.Client(base_url=self.url, timeout=START_S) as http:
            subjects: list[str] = http.get("/subjects").raise_for_status().json()
            while subjects:
                left = [subject for subject in subjects if not self._is_deleted(http, subject)]
                if len(left) == len(subjects):
                    raise RuntimeError(f"the registry does not delete {', '.join(left)}")
                subjects = left

    @staticmethod
    def _is_deleted(http: httpx.Client, subject: str) -> bool:
        deletions = (http.delete(f"/subjects/{subject}", params={"permanent": each}) for each in ("false", "true"))
        return all(deletion.is_success for deletion in deletions)

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._process is not None

    def freeze(self) -> None:
        """Freeze the process, so that it answers nobody."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the frozen process continue."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the process at once; what was only in memory is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
