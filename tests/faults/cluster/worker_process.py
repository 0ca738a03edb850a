"""A real worker (`mnemolog up`) in a process of its own, which a row kills, freezes, stops and starts again."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.forked_program import Forked

UP = ("-m", "mnemolog", "up")
FORKED_UP = ("up",)
"""The same, as a fork of a process that has imported everything, and not as a Python that starts."""
START_SECONDS = 180.0
"""Only a worker that hangs takes so long: a start is five seconds of processor time, and the machine may be busy."""
STOP_SECONDS = 120.0
"""Longer than a worker takes at most, which then ends as it is, and says so."""
ENDED_AS_IT_IS = "has not stopped within"


class WorkerProcess:
    """One worker: its folder, port and settings stay, its process comes and goes."""

    def __init__(
        self,
        folder: Path,
        port: int,
        settings: Mapping[str, str],
        program: Sequence[str] = UP,
        **more: str,
    ) -> None:
        """Start nothing yet. `settings` are without the prefix; `more` are variables of any name."""
        self._program = program
        self.folder = folder
        self._authority = settings.get("CA_FILE")
        self.url = f"{'https' if 'TLS_CERT_FILE' in settings else 'http'}://127.0.0.1:{port}"
        self.frozen = False
        self.removed = False
        """Not to come back."""
        self.lives = 0
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
        self._environment |= {
            "MNEMOLOG_PORT": str(port),
            "MNEMOLOG_DATA_DIR": str(folder / "data"),
            **{f"MNEMOLOG_{name}": value for name, value in settings.items()},
            **more,
        }
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._said_before = 0

    def beside(self, folder: Path, port: int, **settings: str) -> WorkerProcess:
        """Return another worker with these settings changed; it is not started."""
        known = {n.removeprefix("MNEMOLOG_"): v for n, v in self._environment.items() if n.startswith("MNEMOLOG_")}
        theirs = {n: v for n, v in known.items() if n not in ("PORT", "DATA_DIR")} | settings
        return WorkerProcess(folder, port, theirs, self._program)

    def has_setting(self, name: str) -> bool:
        """Tell whether it is given a setting of that name."""
        return f"MNEMOLOG_{name}" in self._environment

    @property
    def brokers(self) -> list[str]:
        """Return the brokers that it is given, as `host:port`."""
        return self._environment["MNEMOLOG_BROKER"].removeprefix("kafka://").split(",")

    @property
    def is_alive(self) -> bool:
        """Tell whether its process is there and not frozen."""
        return self._process is not None and self._process.poll() is None and not self.frozen

    @property
    def pid(self) -> int:
        """Return the id of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return how its process ended, None while it runs."""
        return self._process.poll() if self._process is not None else None

    @property
    def log(self) -> Path:
        """Return the file with everything that its processes said."""
        return self.folder / "log.txt"

    def start(self) -> None:
        """Start its process, and do not wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lives += 1
        with self.log.open("ab") as output:
            self._said_before = output.tell()
            self._process = self._forked() if self._program == FORKED_UP else self._own_process(output)

    def _own_process(self, output: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, *self._program],
            env=self._environment,
            cwd=self.folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def _forked(self) -> Forked:
        from support.forked_program import Forked  # noqa: PLC0415 - its server is started by few

        return Forked(*FORKED_UP, environment=self._environment, folder=self.folder, output=self.log)

    async def command(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start one of mnemolog's commands with the settings of this worker, which need not run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mnemolog", *arguments, env=self._environment, cwd=self.folder, stdout=-1, stderr=-1
        )

    async def ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until it answers requests. Raises AssertionError when it ends, or takes too long."""
        deadline = time.monotonic() + seconds
        verify = True if self._authority is None else ssl.create_default_context(cafile=self._authority)
        async with httpx.AsyncClient(timeout=20, verify=verify) as http:
            while time.monotonic() < deadline:
                assert self.exit_code is None, f"it ended with {self.exit_code}: {self.said()}"
                try:
                    if (await http.get(f"{self.url}/health/ready")).is_success:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.1)
        raise AssertionError(f"{self.url} is not ready after {seconds} s: {self.said()}")

    def kill(self) -> None:
        """End its process between any two instructions."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.frozen = False

    def freeze(self) -> None:
        """Let its process stand still."""
        assert self._process is not None
        self.frozen = True
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let its process go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self.frozen = False

    async def terminate(self) -> int:
        """Ask it to stop, wait until it has, and return its exit code. Raises AssertionError when it broke off."""
        assert self._process is not None
        self._process.terminate()
        exit_code = await asyncio.wait_for(asyncio.to_thread(self._process.wait), STOP_SECONDS)
        assert ENDED_AS_IT_IS not in self.said_in_this_life(), self.said()
        return exit_code

    def said(self) -> str:
        """Return the end of what it said."""
        return self.log.read_text("utf-8", "replace")[-3000:]

    def said_in_this_life(self) -> str:
        """Return what it said since it was started the last time."""
        return self.log.read_bytes()[self._said_before :].decode("utf-8", "replace")
