"""The time of the last backup of this data directory, for metrics and for the doctor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import orjson
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.log.private_files import FOLDER_MODE
from projections.durable_files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prometheus_client import Metric

    from mnemolog.settings import Settings

FILE: Final = "backup.json"
"""A file in `log/`, so that it accompanies the log."""
LATE: Final = timedelta(days=7)
"""The age from which the doctor reports a backup as late."""


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last backup of a log."""

    taken_at: str
    folder: str
    records: int

    @property
    def moment(self) -> datetime:
        """The moment up to which it holds everything."""
        return datetime.fromisoformat(self.taken_at)


def note_backup(settings: Settings, last: LastBackup) -> None:
    """Record a backup. Raises OSError."""
    path = settings.data_dir.resolve() / "log" / FILE
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    replace_file(path, orjson.dumps(asdict(last)))


def read_last(data_dir: Path) -> LastBackup | None:
    """Return the last backup; None if there was none, or if the note cannot be read."""
    try:
        last = LastBackup(**orjson.loads((data_dir.resolve() / "log" / FILE).read_bytes()))
        has_offset = last.moment.tzinfo is not None
    except (OSError, TypeError, ValueError):
        return None
    return last if has_offset else None


class BackupAge(Collector):
    """The gauge of the age of the last backup; without one there is no gauge."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def collect(self) -> Iterable[Metric]:
        """Yield the current metric."""
        if (last := read_last(self._data_dir)) is not None:
            family = GaugeMetricFamily("mnemolog_backup_age_seconds", "Age of the last backup of the log")
            family.add_metric((), (datetime.now(UTC) - last.moment).total_seconds())
            yield family
