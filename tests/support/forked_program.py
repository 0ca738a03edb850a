"""The command line in processes of their own that begin with their modules imported.

Each is a fork of one process that has imported everything and done nothing: exit code, streams, signals and files are
those of `python -m mnemolog`, and the one to three seconds of processor time that the imports take are spent once. All
forks share the seed of hashes; whatever may depend on it, or on how Python starts, needs `python -m mnemolog`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FORKS: Final = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "mnemolog.cli.program",
        "mnemolog.settings",
        "mnemolog.server",
        "mnemolog.worker.components",
        "mnemolog.worker.worker",
        "mnemolog.http.app",
        "projections.index.weaviate.index",
        "streams.transports.kafka.transport",
        "faust.app",
        "faust.web.drivers.aiohttp",
        "rich.progress",
        "rich.table",
    ]
)


def mnemolog(
    *arguments: str, environment: dict[str, str], said: bytes = b"", timeout: float = 300.0
) -> CompletedProcess[bytes]:
    """Run a command to its end. Raises TimeoutExpired, and ends it then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stdin").write_bytes(said)
        process = FORKS.Process(target=_run, args=(folder, arguments, environment))
        process.start()
        try:
            process.join(timeout)
            if process.exitcode is None:
                raise TimeoutExpired(["mnemolog", *arguments], timeout, *_printed(folder))
            return CompletedProcess(["mnemolog", *arguments], process.exitcode, *_printed(folder))
        finally:
            process.kill()
            process.join()
            process.close()


class ForkedProgram:
    """A command line that goes on until it is ended, with what tests use of a `Popen`."""

    def __init__(self, *arguments: str, environment: Mapping[str, str], folder: Path, output: Path) -> None:
        """Start it in a folder; it appends what it says to a file. A daemon, it does not outlive this process."""
        told = (folder, output, arguments, dict(environment))
        self._process = FORKS.Process(target=_run_on, args=told, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return how it ended. Raises TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise TimeoutExpired(["mnemolog"], timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to stop."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it between any two instructions."""
        self.send_signal(signal.SIGKILL)


def _printed(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()


def _run(folder: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Be the program, with its own standard streams."""
    _take_streams(*(folder / name for name in ("stdin", "stdout", "stderr")))
    _be_the_program(arguments, environment)


def _run_on(folder: Path, output: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Be the program in its folder, and say everything in one file."""
    os.chdir(folder)
    _take_streams(Path(os.devnull), output, output)
    _be_the_program(arguments, environment)


def _take_streams(*files: Path) -> None:
    """Make files standard input, output and error."""
    for number, file in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there


def _be_the_program(arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Run the command line with its variables; what it registers for its end is done here."""
    from mnemolog.cli import main  # noqa: PLC0415 - imported already, by the process that this one is a fork of

    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["mnemolog", *arguments]
    try:
        main()
    finally:
        atexit._run_exitfuncs()
