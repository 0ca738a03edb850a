"""The program of the rules' child process: it extracts windows, and the kernel ends it when one takes too long.

A regular expression that does not come to an end holds the interpreter's lock: no thread and no handler of a signal in
Python would be sure to run. A timer of processor time whose signal ends the process is.
"""

from __future__ import annotations

import pickle
import signal
import sys
from typing import TYPE_CHECKING

from schemas.frames import answers, read_frame, write_frame
from streams.extraction.own_words.statements import read_window

if TYPE_CHECKING:
    from streams.extraction.own_words.statements import Reading
    from streams.extraction.protocol import Window


def main() -> None:
    """Say with an empty answer that it is ready, then answer each window in turn.

    The first argument is the processor time of a window, in seconds.
    """
    seconds = float(sys.argv[1])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with answers() as pipe:
        write_frame(pipe, b"")
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            # Both ends of the socket are this program: no stranger's pickle comes this way, only strangers' words.
            answer = _read(pickle.loads(frame))  # noqa: S301
            signal.setitimer(signal.ITIMER_PROF, 0)
            write_frame(pipe, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _read(window: Window) -> Reading | str:
    """Return what is read in a window, or a sentence that names the rules' bug."""
    try:
        return read_window(window)
    except Exception as bug:  # noqa: BLE001 - the caller rejects the window
        return f"{type(bug).__name__}: {bug}"


if __name__ == "__main__":
    main()
