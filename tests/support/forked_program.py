"""The command line in processes of their own that begin with their modules imported.

Each is a fork of one process that has imported everything and done nothing: exit code, streams, signals and files are
those of `python -m mnemolog`, and the one to three seconds of processor time that the imports take are spent once. All
forks share the seed of hashes; whatever may depend on it, or on how Python starts, needs `python -m mnemolog`.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

FORKS: Final = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "mnemolog.cli.program",
        "mnemolog.settings",
        "mnemolog.server",
        "mnemolog.worker.components",
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


def started(text: str, *arguments: str, stdout: Connection, stderr: Connection) -> BaseProcess:
    """Begin to run a text as `python -c` does; return its process. The streams are ends of pipes, for it alone."""
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


def _printed(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()


def _run(folder: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Be the program, with its own standard streams and variables; what it registers for its end is done here."""
    from mnemolog.cli import main  # noqa: PLC0415 - imported already, by the process that this one is a fork of

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(folder / name, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - multiprocessing has put another there
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["mnemolog", *arguments]
    try:
        main()
    finally:
        atexit._run_exitfuncs()
