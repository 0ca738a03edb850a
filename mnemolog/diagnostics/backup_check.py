"""The doctor's check of backups: when the last one was made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mnemolog.backup.last_backup import LATE, read_last
from mnemolog.diagnostics.check import Check

if TYPE_CHECKING:
    from mnemolog.settings import Settings


async def check_backup(settings: Settings) -> Check:
    """Say when the last backup was made; one that was begun with, and is late, is wrong."""
    last = read_last(settings.data_dir)
    if last is None:
        return Check("backup", ok=True, detail="none was made: `mnemolog backup DIR` makes one while it serves")
    age = datetime.now(UTC) - last.moment
    days, hours = age.days, age.seconds // 3600
    ago = f"{days} days" if days else f"{hours} hours" if hours else f"{max(0, age // timedelta(minutes=1))} minutes"
    detail = f"the last one, {ago} old, holds {last.records:,} records in {last.folder}"
    return Check(
        "backup", ok=age < LATE, detail=detail, advice=f"run `mnemolog backup {last.folder}`, or see why it fails"
    )
