"""The simulated log passes the suite of all logs: what is found on it can be found on the others."""

from __future__ import annotations

import pytest
from contract.log_suite import LogSuite
from simulation.simulated_log import SimulatedLog

from schemas.instant import SystemClock


class TestSimulatedLog(LogSuite):
    @pytest.fixture
    def log(self) -> SimulatedLog:
        return SimulatedLog(SystemClock())
