"""The data directory of a command: whether it is usable, its contents, and the process that serves it."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Final

from mnemolog.environment import SettingsError
from schemas.log import LogLocked
from streams.transports.directory_lock import read_note
from streams.transports.sqlite.file import LOG_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemolog.settings import Settings

COMMAND_SECONDS: Final = 10.0
"""The longest time that `up` waits for a command in the same folder to end."""
LOOK_SECONDS: Final = 0.2


def check_folder(folder: Path) -> None:
    """Refuse a file, or a folder that cannot be created; create nothing. Raises SettingsError."""
    folder = folder.resolve()
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
    except OSError as error:
        raise SettingsError(f"the data directory {folder} cannot be reached: {error.strerror}") from error
    if not there.is_dir():
        raise SettingsError(f"the data directory {folder}: {there} is a file, not a folder; name another with --data")
    if there != folder and not os.access(there, os.W_OK | os.X_OK):
        raise SettingsError(
            f"the data directory {folder} cannot be created: {there} is not writable; name another with --data"
        )


def is_empty_world(settings: Settings) -> bool:
    """Return whether nothing was ever published here; always false with Kafka, whose log is elsewhere."""
    return settings.is_embedded and not (settings.data_dir / "log" / LOG_FILE).exists()


async def wait_until_free(settings: Settings, say: Callable[[str], None]) -> None:
    """Wait a few seconds for a command that holds the directory, and refuse one that a worker serves; create nothing.

    If the directory stays locked for longer, opening the log reports it. Raises LogLocked.
    """
    folder = settings.data_dir.resolve()
    deadline, announced = time.monotonic() + COMMAND_SECONDS, False
    while (note := read_note(folder / "log")) is not None:
        if "url" in note:
            raise LogLocked(f"a worker (process {note['pid']}) already serves {folder} at {note['url']}")
        if time.monotonic() >= deadline:
            return
        if not announced:
            say(f"waiting for process {note['pid']}, which holds {folder}")
            announced = True
        await asyncio.sleep(LOOK_SECONDS)
