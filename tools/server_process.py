"""A server of another project in a process of its own: the part that all kinds share, which is how they end."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

STOP_S = 10


class ServerProcess:
    """One server; it keeps its data when it is started again."""

    def __init__(self, directory: Path) -> None:
        """Take its folder, which may be that of an earlier run, and start nothing."""
        self.output = directory / "output.txt"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of its process. Raises RuntimeError if it was not launched."""
        return self._launched().pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of its process, None while it runs or before it was launched."""
        return self._process.poll() if self._process is not None else None

    @property
    def is_running(self) -> bool:
        """Whether it was launched and has not ended."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to its process: SIGSTOP freezes it, SIGCONT lets it continue."""
        self._launched().send_signal(number)

    def stop(self) -> None:
        """End it, gracefully if it ends within ten seconds."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _run(self, command: Sequence[str], env: Mapping[str, str] | None = None, *, own_session: bool) -> None:
        """Start a program in the folder. In a session of its own it does not receive a terminal's Ctrl-C."""
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdout=output, stderr=output, cwd=self._directory, env=env, start_new_session=own_session
            )

    def _launched(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process
