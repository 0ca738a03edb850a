"""A program whose backups, or restorations, are killed at each step: `killed_copies.py WORK DATA BACKUP`.

A step is whatever is done to a file's name, and each stretch of records: each run is killed before it does the step of
its number, from 1 on, until one comes to its end. One interpreter is loaded, and forks. What is then there is printed,
a line of JSON for each.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from mnemolog.backup.creation import back_up
from mnemolog.backup.manifest import NoBackup
from mnemolog.backup.moment import Moment
from mnemolog.backup.restoration import restore
from mnemolog.backup.source import opened_source
from mnemolog.backup.verification import verify_backup
from mnemolog.log.private_files import create_privately
from mnemolog.operations.integrity.data_folder import FolderMismatch, check_folder
from mnemolog.settings import from_environment
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from mnemolog.settings import Settings

COPIED = "copied"
STEPS = frozenset({COPIED, "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"})
QUICK = 1e9
NEVER = 10**9


def say(what: dict[str, Any]) -> None:
    """Print a line of JSON."""
    sys.stdout.write(orjson.dumps(what).decode() + "\n")
    sys.stdout.flush()


def die_at(step: int, folder: Path) -> None:
    """Have this process killed at a step, of those that change a folder."""
    taken = count(1)

    def look(event: str, given: tuple[Any, ...]) -> None:
        if (
            event in STEPS
            and str(folder) in str(given[0])
            and (event != "open" or _writes(given))
            and (next(taken) == step)
        ):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def _writes(given: tuple[Any, ...]) -> bool:
    return bool(given[2] & (os.O_WRONLY | os.O_RDWR))


def killed(step: int, folder: Path, work: Any) -> bool:
    """Run some work in a process that is killed at a step; return whether it was."""
    child = os.fork()
    if child == 0:
        die_at(step, folder)
        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - a child must not go on as its parent
            sys.stderr.write(f"{error!r}\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), f"step {step}"
    return os.WIFSIGNALED(status)


def back_up_killed(settings: Settings, backup: Path) -> None:
    """Back up until no step is left to be killed at; after each there is a whole backup, or as yet none."""

    async def work() -> None:
        async with opened_source(settings) as source:
            await back_up(source, backup, QUICK, lambda *_: sys.audit(COPIED, str(backup), "", os.O_RDWR))

    for step in count(1):
        is_over = not killed(step, backup, work)
        try:
            manifest = verify_backup(backup)
        except NoBackup:
            say({"step": step, "taken_at": None, "records": 0})
        else:
            say({"step": step, "taken_at": manifest.taken_at, "records": manifest.records})
        if is_over:
            return


def restore_killed(settings: Settings, backup: Path) -> None:
    """Restore until no step is left to be killed at; after each a worker is refused, and the same command goes on."""

    async def work() -> None:
        step = partial(sys.audit, COPIED, str(settings.data_dir), "", os.O_RDWR)
        tell = lambda receipt: say({"digest": receipt["digest"]})  # noqa: E731 - what the command prints
        await restore(settings, backup, Moment(), lambda *_: step(), tell)

    log = settings.data_dir / "log" / LOG_FILE
    for step in count(1):
        if not killed(step, settings.data_dir, work):
            return
        is_there, is_refused = log.exists(), _is_refused(settings)
        say({"step": step, "has_log": is_there, "is_refused": is_refused})
        if is_there:
            if is_refused:  # it lacked its last steps, which are taken
                assert not killed(NEVER, settings.data_dir, work)
                assert not _is_refused(settings)
            for name in ("log", "shards"):  # the next begins anew
                shutil.rmtree(settings.data_dir / name, ignore_errors=True)


def _is_refused(settings: Settings) -> bool:
    try:
        asyncio.run(check_folder(settings))
    except FolderMismatch:
        return True
    return False


if __name__ == "__main__":
    create_privately()
    what, data, place = sys.argv[1:]
    chosen = from_environment({}, data_dir=Path(data), partitions=2)
    (back_up_killed if what == "backup" else restore_killed)(chosen, Path(place))
