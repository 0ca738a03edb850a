"""The kernel as a witness: Linux knows whether a time service keeps the machine's clock right."""

from __future__ import annotations

import ctypes
import sys
from datetime import UTC, datetime, timedelta
from typing import Final

from mnemolog.clock.doubt import STEP

_LONGS: Final = 64
"""More than `struct timex` has, whatever the length of a long."""
_STATUS: Final = 5
_SECONDS: Final = 9
_UNSYNCHRONISED: Final = 0x40
_ERROR: Final = 5
"""What adjtimex returns while the clock is not synchronised."""


def is_synchronised(machine_now: datetime) -> bool:
    """Return whether the kernel says that a time service (NTP, PTP) keeps its clock right, which is the machine's.

    What the machine's clock says now is asked for, and not the time that a worker goes by, which a doubt keeps apart.
    The kernel takes that back when somebody sets the clock by hand. False where there is no saying: on other systems,
    and where no service runs.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != ctypes.sizeof(ctypes.c_int64):
        return False
    timex = (ctypes.c_long * _LONGS)()  # modes 0: it only reads
    try:
        answer = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return False
    if answer < 0 or answer == _ERROR or timex[_STATUS] & _UNSYNCHRONISED:
        return False
    return abs(machine_now - datetime.fromtimestamp(timex[_SECONDS], UTC)) <= min(STEP, timedelta(minutes=1))
