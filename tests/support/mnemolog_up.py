"""A `mnemolog up` in a process of its own, for tests of its clients."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from support.forked_program import Forked

from mnemolog import Client, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TIMEOUT_SECONDS = 240.0
"""Only a worker that hangs takes this long: a start needs five seconds of processor time on a busy machine."""


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment variables, with settings that make two runs comparable."""
    own = {"MNEMOLOG_IDLE_SECONDS": "1", "MNEMOLOG_EXTRACTOR": "rules", "MNEMOLOG_PARTITIONS": "2"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    return kept | own | {"MNEMOLOG_DECAY_POLICY": "off"} | variables


class Up:
    """A `mnemolog up` in a process of its own."""

    def __init__(self, folder: Path, port: int, **variables: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.client = Client(self.url, retries=0)
        self.process = self._started(["up", "--data", str(folder), "--port", str(port)], environment(**variables))

    def _started(self, arguments: Sequence[str], variables: dict[str, str]) -> subprocess.Popen[str] | Forked:
        command = [sys.executable, "-m", "mnemolog", *arguments]
        return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            try:
                self.client.digest()
            except Unavailable:
                assert self.process.poll() is None, self.end()
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"not ready within {TIMEOUT_SECONDS} s")

    def end(self, number: int | None = None) -> tuple[int, str]:
        """Send a signal, wait for the end, and return the exit code and the standard error."""
        if number is not None:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=TIMEOUT_SECONDS)
        self.client.close()
        code = self.process.returncode
        assert code is not None
        return code, said


class ForkedUp(Up):
    """A `mnemolog up` that starts with everything imported: for tests of its answers, not of how Python starts."""

    missing: tuple[str, ...] = ()
    """The modules that cannot be imported in it."""

    def _started(self, arguments: Sequence[str], variables: dict[str, str]) -> Forked:
        return Forked(*arguments, environment=variables, missing=self.missing)

    def end(self, number: int | None = None) -> tuple[int, str]:
        """Do the same, and leave no process behind, whatever happens."""
        try:
            return super().end(number)
        finally:
            self.process.kill()
