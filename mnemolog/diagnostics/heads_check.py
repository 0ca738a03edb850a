"""The doctor's check of heads: whether they are kept where an editor of the log does not come."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mnemolog.diagnostics.check import Check
from mnemolog.operations.integrity.kept_heads import FILES, folder_of
from schemas.disclosure import masked

if TYPE_CHECKING:
    from mnemolog.settings import Settings

_NAME: Final = "heads"


async def check_heads(settings: Settings) -> Check:
    """Say where heads are kept and how old the newest are; a folder that is not there, or not ours, is wrong."""
    if settings.heads_to is None:
        detail = "kept with the log alone: nothing tells of an older copy of everything; HEADS_TO keeps them elsewhere"
        return Check(_NAME, ok=True, detail=detail)
    if (folder := folder_of(settings)) is None:
        return Check(_NAME, ok=True, detail=f"posted to {masked(settings.heads_to)}")
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        what = "cannot be written" if folder.is_dir() else "is not there"
        advice = "mount it, or make it and let the worker write there; or correct MNEMOLOG_HEADS_TO"
        return Check(_NAME, ok=False, detail=f"{folder} {what}", advice=advice)
    newest = max((path.stat().st_mtime for path in folder.glob(FILES)), default=None)
    if newest is None:
        return Check(_NAME, ok=True, detail=f"{folder} has none yet")
    at = datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds")
    return Check(_NAME, ok=True, detail=f"the newest in {folder} are of {at}")
