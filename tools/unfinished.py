"""A folder for what is being fetched or built: one process at a time, and nothing of it stays, however it ends."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "unfinished-"
LOCK = "lock"


@contextmanager
def unfinished(home: Path) -> Iterator[Path]:
    """Make a folder in `home`, which has the lock of `home.parent` while the block lasts; what is done is moved out.

    Waits for a process that has the lock: what was missing may be there then. What such a process left behind when it
    was killed is deleted. One lock for all, because Maven's own repository does not like two at once either.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home.parent / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another process fetches or builds here: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in home.glob(f"{PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
