"""A fold as a program of its own: records come in on stdin and are folded into a shard's file, until stdin ends.

Its arguments are the file, the partition (or `globals`), the number of partitions, and whether the file is built
anew. A frame is a length, 4 bytes little-endian, and as many bytes. The first frame in is the key of the file, empty
for an unencrypted one. The first frame out is empty: the file is open.
Then frames of records come in, as `handed_records` packs them; when one is folded, the number of its void decisions
goes out, in decimal digits. An empty frame marks the end of the records: it is answered when the file is complete.

The parent process holds the other end of stdin. When it dies, for whatever reason, this process ends at once, even in
the middle of a transaction: SQLite rolls that back, and an incomplete file that was built anew is not used.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from projections.encrypted_files import unlock
from projections.partitions.generation import Generation
from projections.partitions.handed_records import unpack
from schemas.frames import answers, read_frame, write_frame

if TYPE_CHECKING:
    from projections.shard.shard import Shard
    from schemas.log import Log

GLOBALS: Final = "globals"
BUILD, CONTINUE = "build", "continue"
"""Whether the file is new, and worthless until it is complete, or is folded further from where it ends."""
NICENESS: Final = 5
"""The niceness of the process: meanwhile the worker answers for its other partitions."""
FRAMES_AHEAD: Final = 1
"""The number of frames read ahead while one is folded."""


def main() -> None:
    """Fold each frame in turn, one transaction each."""
    file, which, partitions, how = sys.argv[1:]
    os.nice(NICENESS)
    path, log = Path(file), cast("Log", None)  # its records are handed in: it reads no log
    unlock(path.parent, read_frame(sys.stdin.buffer) or None)
    generation = Generation(path.parent, log, int(partitions))
    shard = generation.open_globals() if which == GLOBALS else generation.open(int(which), path)
    if how == BUILD:
        shard.begin_build()
    frames: queue.Queue[bytes] = queue.Queue(FRAMES_AHEAD)
    threading.Thread(target=_read, args=(frames,), daemon=True).start()
    # A fold creates no reference cycles, and looking for them would take a tenth of the time.
    gc.disable()
    with answers() as pipe:
        write_frame(pipe, b"")
        while frame := frames.get():
            write_frame(pipe, str(_fold(shard, frame)).encode())
        if how == BUILD:
            shard.end_build()
        write_frame(pipe, b"0")


def _fold(shard: Shard, frame: bytes) -> int:
    """Fold records; return the number of void decisions among them."""
    records, before = unpack(frame), shard.ledger.void_decisions
    shard.fold(records[0].position.topic, records)
    return shard.ledger.void_decisions - before


def _read(frames: queue.Queue[bytes]) -> None:
    """Queue the frames from stdin, and end the process when stdin ends."""
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        frames.put(frame)
    os._exit(0)


if __name__ == "__main__":
    main()
