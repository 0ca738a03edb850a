"""The embedded log passes the suite of all logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.log_suite import TrimmedLogSuite

from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestSqliteLog(TrimmedLogSuite):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog.open(tmp_path)
        yield log
        log.close()
