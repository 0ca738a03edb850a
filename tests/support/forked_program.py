"""The command line in processes that start with all modules imported: short commands, and programs that keep running.

Each process is a fork of the fork server, which has imported everything and done nothing else. Exit code, streams,
signals and files are those of `python -m mnemolog`, but the imports, which take one to three seconds of processor time,
happen only once. The same holds for the processes that a command starts (`forked_children`). All forks share one hash
seed: a test that may depend on it, or on how Python starts, needs `python -m mnemolog`.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
import tempfile
from multiprocessing import forkserver, get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from support.forked_children import fork_children

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

MNEMOLOG: Final = "mnemolog"
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
        "faust.assignor.partition_assignor",
        "faust.tables.objects",
        "faust.tables.sets",
        "faust.topics",
        "faust.worker",
        "streams.extraction.rules.child",
        "streams.transports.sqlite.transport",
        "uvicorn.lifespan.off",
        "support.forked_preload",
    ]
)


def _serve() -> None:
    """Start the fork server if it does not run; it finds the tests' modules in the same places as this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()


class _Around(NamedTuple):
    """The surroundings of a program: the files of its standard streams, its working directory, and its umask."""

    streams: list[Path]
    folder: Path
    umask: int


class Forked:
    """A running command, with the part of `Popen` that tests use, and its output so far. Its caller must `kill` it."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        said: bytes = b"",
        missing: Sequence[str] = (),
        folder: Path | None = None,
        output: Path | None = None,
        program: str = MNEMOLOG,
    ) -> None:
        """Start it with the umask of this process and `said` as its input; it cannot import the modules in `missing`.

        `program` may be another module or file, which runs as by `python -m` or `python`. It runs in `folder`, by
        default the working directory of this process, and appends both output streams to `output` if that is given.
        """
        self._own = None
        if output is None:
            self._own = tempfile.TemporaryDirectory(prefix="forked-")
            given, *self._files = (Path(self._own.name) / name for name in ("stdin", "stdout", "stderr"))
            given.write_bytes(said)
        else:
            given, self._files = Path(os.devnull), [output, output]
        self.arguments = [program, *arguments]
        around = _Around([given, *self._files], folder or Path.cwd(), _umask())
        told = (around, self.arguments, dict(environment), missing)
        _serve()
        self._process = FORKS.Process(target=_run, args=told, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self._ended: tuple[int | None, tuple[bytes, bytes]] | None = None
        """Its exit code and its whole output, once its files are gone."""

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs; the negative number of the signal if one ended it."""
        return self._process.exitcode if self._ended is None else self._ended[0]

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self.returncode

    def told(self) -> tuple[bytes, bytes]:
        """Return its standard output and standard error so far: the same bytes twice if both go to one file."""
        if self._ended is not None:
            return self._ended[1]
        printed, said = (file.read_bytes() if file.exists() else b"" for file in self._files)
        return printed, said

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for its end; return its standard output and standard error. Raises TimeoutExpired without ending it."""
        self.wait(timeout)
        printed, said = self.told()
        return printed.decode(), said.decode()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to stop."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit code. Raises TimeoutExpired without ending it."""
        if self._ended is None:
            self._process.join(timeout)
        if self.returncode is None:
            raise TimeoutExpired(self.arguments, timeout or 0.0, *self.told())
        return self.returncode

    def kill(self) -> None:
        """End it, wait until it has ended, and remove its files; safe to call twice."""
        if self._ended is None:
            self._process.kill()
            self._process.join()
            self._ended = self._process.exitcode, self.told()
            self._process.close()
            if self._own is not None:
                self._own.cleanup()


def mnemolog(
    *arguments: str,
    environment: dict[str, str],
    said: bytes = b"",
    timeout: float = 300.0,
    folder: Path | None = None,
    program: str = MNEMOLOG,
) -> CompletedProcess[bytes]:
    """Run a command to its end. If that takes longer than `timeout` seconds, end it and raise TimeoutExpired."""
    command = Forked(*arguments, environment=environment, said=said, folder=folder, program=program)
    try:
        code = command.wait(timeout)
        return CompletedProcess(command.arguments, code, *command.told())
    finally:
        command.kill()


def started(text: str, *arguments: str, stdout: Connection, stderr: Connection) -> BaseProcess:
    """Start a process that runs a text as `python -c` does, and return it. It takes over its ends of the two pipes."""
    _serve()
    process = FORKS.Process(target=_run_text, args=(text, arguments, stdout, stderr))
    process.start()
    stdout.close()
    stderr.close()
    return process


def _run_text(text: str, arguments: tuple[str, ...], stdout: Connection, stderr: Connection) -> None:
    for number, end in ((1, stdout), (2, stderr)):
        os.dup2(end.fileno(), number)
        end.close()
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test's own text


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _run(around: _Around, arguments: list[str], environment: dict[str, str], missing: Sequence[str]) -> None:
    """Run the program in this process."""
    os.chdir(around.folder)
    _take_streams(*around.streams)
    os.umask(around.umask)
    _be_the_program(arguments, environment, missing)


def _take_streams(*files: Path) -> None:
    """Make three files standard input, output and error."""
    for number, file in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there


def _be_the_program(arguments: list[str], environment: dict[str, str], missing: Sequence[str] = ()) -> None:
    """Run the program with its environment variables, and the functions that it registers with `atexit`."""
    from mnemolog.cli import main  # noqa: PLC0415 - imported already, by the process that this one is a fork of

    os.environ.clear()
    os.environ.update(environment)
    for name in missing:
        sys.modules[name] = None  # type: ignore[assignment] # to Python this means "cannot be imported"
    sys.argv = arguments
    fork_children()
    try:
        if arguments[0] == MNEMOLOG:
            main()
        elif arguments[0].endswith(".py"):
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            runpy.run_module(arguments[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()
