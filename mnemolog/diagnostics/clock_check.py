"""The check of the clock: whether a worker trusts it, and whether the log's time is ahead of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mnemolog.clock.doubt import STEP, spelt
from mnemolog.diagnostics.check import Check
from mnemolog.diagnostics.liveness import PROBE_SECONDS, ready_answer
from mnemolog.log.connection import opened_log
from mnemolog.log.newest_time import newest_time
from mnemolog.operations.clocks import AHEAD_ADVICE
from schemas.instant import instant
from schemas.log import LogError
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemolog.settings import Settings

_NAME: Final = "clock"
_ADVICE: Final = "set it right if it is wrong, else say so with `mnemolog clock confirm`"


def check_of_worker(conditions: Sequence[str]) -> Check:
    """Return the check of a worker's clock, from the faults that it reports."""
    if not conditions:
        return Check(_NAME, ok=True, detail="is believed, and the log's time agrees with it")
    return Check(_NAME, ok=False, detail="; ".join(conditions), advice=_ADVICE)


async def check_clock(settings: Settings, note: Mapping[str, object] | None) -> list[Check]:
    """Ask the worker that holds the data directory, by its note, or compare this machine's clock with the log.

    Return [] if neither can be reached, which other checks report.
    """
    if note is not None:
        said = await ready_answer(str(note["url"]), settings.ca_file) if "url" in note else None
        return [] if said is None else [check_of_worker(said.get("conditions", []))]
    if settings.is_embedded and not (settings.data_dir.resolve() / "log" / LOG_FILE).exists():
        return []
    try:
        async with asyncio.timeout(2 * PROBE_SECONDS), opened_log(settings) as log:
            return [_check_of_log(await newest_time(log), datetime.now(UTC), settings.clock_gap_days)]
    except (LogError, OSError, TimeoutError):
        return []


def _check_of_log(newest: datetime | None, now: datetime, gap_days: float) -> Check:
    """Return the check of this machine's clock against the newest record of a log that no worker has open."""
    if newest is not None and newest - now > STEP:
        detail = f"the log's newest time {instant(newest)} lies {spelt(newest - now)} ahead of the clock"
        return Check(_NAME, ok=False, detail=detail, advice=AHEAD_ADVICE)
    detail = "agrees with the log's time"
    if newest is not None and gap_days and now - newest > timedelta(days=gap_days):
        detail = f"is {spelt(now - newest)} later than the newest record: the next start looks for a witness"
    return Check(_NAME, ok=True, detail=detail)
