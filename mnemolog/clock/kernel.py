"""The kernel as a witness: Linux knows whether a time service synchronises the machine's clock."""

from __future__ import annotations

import ctypes
import sys
from datetime import UTC, datetime, timedelta
from typing import Final

from mnemolog.clock.doubt import STEP

_LONGS: Final = 64
"""The size of the buffer in longs, larger than `struct timex` on every platform."""
_STATUS: Final = 5
_SECONDS: Final = 9
_UNSYNCHRONISED: Final = 0x40
_ERROR: Final = 5
"""The return value of adjtimex while the clock is not synchronised."""


def is_synchronised(machine_now: datetime) -> bool:
    """Return whether the kernel reports that a time service (NTP, PTP) synchronises the machine's clock.

    `machine_now` is the time of the machine's clock, not the time of the trusted clock, which differs during a doubt.
    The kernel withdraws its report when the clock is set by hand. Returns False if the state is unknown: on other
    systems, and without a time service.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != ctypes.sizeof(ctypes.c_int64):
        return False
    timex = (ctypes.c_long * _LONGS)()  # modes is 0, so the call only reads
    try:
        answer = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return False
    if answer < 0 or answer == _ERROR or timex[_STATUS] & _UNSYNCHRONISED:
        return False
    return abs(machine_now - datetime.fromtimestamp(timex[_SECONDS], UTC)) <= min(STEP, timedelta(minutes=1))
