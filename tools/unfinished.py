"""A folder for files that are being fetched or built, by one process at a time; it is removed however that ends."""

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
    """Make a folder in `home` and take the lock of `home.parent` for the block, which moves out what is complete.

    It waits for a process that has the lock; the missing files may exist afterwards. It deletes the folder of a process
    that was killed. All engines share one lock, because Maven's own repository does not allow two processes either.
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
