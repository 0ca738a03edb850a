"""The command line in processes of their own that begin with their modules imported: commands, and what goes on.

Each is a fork of one process that has imported everything and done nothing: exit code, streams, signals and files are
those of `python -m mnemolog`, and the one to three seconds of processor time that the imports take are spent once. So
are those of the processes that a command starts (`forked_children`). All forks share the seed of hashes; whatever may
depend on it, or on how Python starts, needs `python -m mnemolog`.
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
    """Start the server of forks, if it does not run: it finds the tests' modules where this process does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()


class _Around(NamedTuple):
    """What a program finds around it: its standard streams, its folder, and which permissions files do not get."""

    streams: list[Path]
    folder: Path
    umask: int


class Forked:
    """A command that goes on, with what tests use of a `Popen`, and what it has said so far. Who starts one ends it."""

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
        """Start it, with the umask of this process; what is `missing` cannot be imported in it.

        `program` is another module or a file that is run as `python -m` or `python` does.
        It runs in `folder`, or where this process does, and appends both streams to `output`, if there is one.
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
        """Its exit code and all that it told, when its files are gone."""

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs; of one that a signal ended the signal's number, negative."""
        return self._process.exitcode if self._ended is None else self._ended[0]

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self.returncode

    def told(self) -> tuple[bytes, bytes]:
        """Return what it has printed and what it has said so far: the same where both have one file."""
        if self._ended is not None:
            return self._ended[1]
        printed, said = (file.read_bytes() if file.exists() else b"" for file in self._files)
        return printed, said

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for its end; return what it printed and what it said. Raises TimeoutExpired, and does not end it."""
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
        """Wait for its end, and return the exit code. Raises TimeoutExpired, and does not end it."""
        if self._ended is None:
            self._process.join(timeout)
        if self.returncode is None:
            raise TimeoutExpired(self.arguments, timeout or 0.0, *self.told())
        return self.returncode

    def kill(self) -> None:
        """Have it ended when this returns, and its files removed; safe to call twice."""
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
    """Run a command to its end. Raises TimeoutExpired, and ends it then."""
    command = Forked(*arguments, environment=environment, said=said, folder=folder, program=program)
    try:
        code = command.wait(timeout)
        return CompletedProcess(command.arguments, code, *command.told())
    finally:
        command.kill()


def started(text: str, *arguments: str, stdout: Connection, stderr: Connection) -> BaseProcess:
    """Begin to run a text as `python -c` does; return its process. The streams are ends of pipes, for it alone."""
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
    """Be the program."""
    os.chdir(around.folder)
    _take_streams(*around.streams)
    os.umask(around.umask)
    _be_the_program(arguments, environment, missing)


def _take_streams(*files: Path) -> None:
    """Make files standard input, output and error."""
    for number, file in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there


def _be_the_program(arguments: list[str], environment: dict[str, str], missing: Sequence[str] = ()) -> None:
    """Run the program with its variables; what it registers for its end is done here."""
    from mnemolog.cli import main  # noqa: PLC0415 - imported already, by the process that this one is a fork of

    os.environ.clear()
    os.environ.update(environment)
    for name in missing:
        sys.modules[name] = None  # type: ignore[assignment] # that is how Python spells "not to be had"
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
