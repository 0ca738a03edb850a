"""The program of the rules' child process: it extracts windows, and the kernel ends it when one takes too long.

A regular expression that does not end keeps the interpreter's lock: no thread and no signal handler in Python is sure
to run. A timer of processor time is sure to work, because its signal ends the process without a handler.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from schemas.frames import read_frame, write_frame
from streams.extraction.own_words.statements import read_window

if TYPE_CHECKING:
    from streams.extraction.own_words.statements import Reading
    from streams.extraction.protocol import Window


def main() -> None:
    """Report with an empty answer that the process is ready, then answer each window in turn.

    The first argument is the processor time of a window, in seconds.
    """
    seconds = float(sys.argv[1])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # The output of libraries must not come between the answers.
    with suppress(BrokenPipeError, ConnectionResetError), os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        write_frame(answers, b"")
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            # Both ends of the socket are this program: no stranger's pickle comes this way, only strangers' words.
            answer = _read(pickle.loads(frame))  # noqa: S301
            signal.setitimer(signal.ITIMER_PROF, 0)
            write_frame(answers, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _read(window: Window) -> Reading | str:
    """Return the reading of a window, or a sentence that names the rules' bug."""
    try:
        return read_window(window)
    except Exception as bug:  # noqa: BLE001 - the caller rejects the window
        return f"{type(bug).__name__}: {bug}"


if __name__ == "__main__":
    main()
