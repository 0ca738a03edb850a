"""The check of the ledger: whether every decision is still there, as far as it can be read in time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mnemolog.diagnostics.check import Check
from mnemolog.operations.integrity.verification import Verification, known_heads, opened_ledger
from schemas.log import LogError, LogLocked
from streams.sealing.key_files import KeysUnusable
from streams.sealing.key_ring import KeysMissing
from streams.sealing.master_key import MasterKeyUnknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.settings import Settings
    from projections.shard.rows.damage import Damage

_NAME: Final = "ledger"
READ_SECONDS: Final = 4.0
"""The time limit for reading the ledger, enough for tens of thousands of decisions."""
_ALL: Final = "`mnemolog verify` reads all of it"


class _OutOfTime(Exception):
    """Not everything could be read in time."""


async def check_ledger(settings: Settings, seconds: float = READ_SECONDS) -> Check:
    """Read the ledger while no worker holds it, for at most `seconds`."""
    until, read = time.monotonic() + seconds, 0

    def count(records: int) -> None:
        nonlocal read
        read += records
        if time.monotonic() > until:
            raise _OutOfTime

    try:
        async with opened_ledger(settings) as ledger:
            if ledger is None:
                return Check(_NAME, ok=True, detail="nothing is decided yet")
            verification = Verification(ledger.log, await known_heads(settings))
            found = await verification.run(count)
    except _OutOfTime:
        return Check(_NAME, ok=True, detail=f"the first {read:,} records are whole; {_ALL}")
    except (LogError, KeysUnusable, KeysMissing, MasterKeyUnknown, OSError) as error:
        in_use = "the log is in use, and its worker says it for `doctor --url`"
        return Check(_NAME, ok=True, detail=f"not read: {in_use if isinstance(error, LogLocked) else error}")
    if found.damage:
        return damaged(found.damage)
    return Check(_NAME, ok=True, detail=f"{found.records:,} records are whole, {found.linked:,} of them linked")


def damaged(found: Sequence[Damage]) -> Check:
    """Return the check of a ledger with damage."""
    more = f"; and {len(found) - 1} more, see `mnemolog verify`" if len(found) > 1 else ""
    advice = "restore the log from a copy, then start again; nothing is answered of what is damaged"
    return Check(_NAME, ok=False, detail=f"{found[0]}{more}", advice=advice)
