"""The embedded transport passes the suite of all transports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.transport_suite import TransportSuite, Worker

from streams.transports.sqlite_log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestSqliteTransport(TransportSuite):
    scheme = "sqlite"
    transport = "streams.transports.sqlite:Transport"

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog.open(tmp_path)
        yield log
        log.close()

    @pytest.fixture
    def url(self, log: SqliteLog) -> str:
        return f"sqlite://{log.directory}"

    async def rebalance(self, worker: Worker) -> None:
        await worker.app.consumer.rebalance()
