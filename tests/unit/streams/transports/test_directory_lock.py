"""A second process is told who holds the log, and can read where to talk to it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from schemas.log import LogLocked
from streams.transports.directory_lock import LOCK_FILE, NOTE_BYTES, DirectoryLock, read_note
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import sys, time
from pathlib import Path
from streams.transports.sqlite.log import SqliteLog
log = SqliteLog.open(Path(sys.argv[1]))
log.lock.write_note({"pid": __import__("os").getpid(), "url": "http://127.0.0.1:19390"})
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds the log."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_by_name_and_address(tmp_path: Path, holder: subprocess.Popen[bytes]):
    with pytest.raises(LogLocked, match=f"process {holder.pid} holds the log .* at http://127.0.0.1:19390"):
        SqliteLog.open(tmp_path)
    assert read_note(tmp_path) == {"pid": holder.pid, "url": "http://127.0.0.1:19390"}


def test_the_lock_of_a_killed_process_is_free_and_its_note_does_not_count(
    tmp_path: Path, holder: subprocess.Popen[bytes]
):
    holder.kill()
    holder.wait()
    assert read_note(tmp_path) is None
    SqliteLog.open(tmp_path).close()


def test_a_note_whose_pid_was_given_to_another_process_does_not_count(tmp_path: Path):
    """After kill -9 the note stays, and some day a stranger has the pid; the port may be a stranger's too."""
    (tmp_path / LOCK_FILE).write_text(f'{{"pid": {os.getpid()}, "url": "http://127.0.0.1:19390"}}')
    assert read_note(tmp_path) is None
    DirectoryLock.take(tmp_path).release()


def test_looking_at_a_lock_keeps_nobody_from_taking_it(tmp_path: Path):
    DirectoryLock.take(tmp_path).release()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            read_note(tmp_path)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(200):
            DirectoryLock.take(tmp_path).release()
    finally:
        done.set()
        for looker in lookers:
            looker.join()


def test_without_a_log_there_is_no_note(tmp_path: Path):
    assert read_note(tmp_path) is None
    lock = DirectoryLock.take(tmp_path)
    assert read_note(tmp_path) == {"pid": os.getpid()}
    lock.release()
    assert read_note(tmp_path) is None


def test_a_shorter_note_replaces_a_longer_one_and_too_long_a_one_is_refused(tmp_path: Path):
    lock = DirectoryLock.take(tmp_path)
    lock.write_note({"pid": os.getpid(), "url": "http://127.0.0.1:19390/" + "x" * 200})
    lock.write_note({"pid": os.getpid()})
    with pytest.raises(ValueError, match="at most"):
        lock.write_note({"pid": os.getpid(), "url": "x" * NOTE_BYTES})
    assert read_note(tmp_path) == {"pid": os.getpid()}
    lock.release()
    with pytest.raises(LogLocked, match="released"):
        lock.write_note({})
