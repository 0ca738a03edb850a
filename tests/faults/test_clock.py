"""No rule reads a clock: neither the time zone nor the year on the machine's clock changes what is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from faults.sample_worker import START
from support.preloaded import compiled

SECONDS = 600
"""For one run, on a busy machine."""


@pytest.fixture(scope="module")
def clock_ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library that sets the wall clock below the process."""
    return compiled(Path(__file__).with_name("clock_ahead.c"), tmp_path_factory.mktemp("clock"))


def sample_at(clock: Path, folder: Path, now: datetime, zone: str) -> dict[str, Any]:
    """Run the sample in a process for which it is `now`, in a time zone; return what it says."""
    ahead = int((now - datetime.now(UTC)).total_seconds())
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "LD_PRELOAD": str(clock),
        "CLOCK_AHEAD_SECONDS": str(ahead),
        "TZ": zone,
    }
    program = Path(__file__).with_name("sample_worker.py")
    command = [sys.executable, str(program), str(folder)]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, timeout=SECONDS)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_sample_ends_alike_in_other_time_zones_and_years(clock_ahead: Path, tmp_path: Path):
    here = sample_at(clock_ahead, tmp_path / "here", START + timedelta(days=1), "UTC0")
    east = sample_at(clock_ahead, tmp_path / "east", START + timedelta(days=2500, hours=11), "LINT-14")
    west = sample_at(clock_ahead, tmp_path / "west", START + timedelta(days=9000, hours=3), "PST8PDT,M3.2.0,M11.1.0")
    assert [run["hour_at_epoch"] for run in (here, east, west)] == [0, 14, 16]
    years = [datetime.fromisoformat(run["logged_at"]).year for run in (here, east, west)]
    assert years == [2026, 2033, 2051]
    assert [run["standing"] for run in (east, west)] == [here["standing"]] * 2
    assert [run["machine"] for run in (east, west)] == [here["machine"]] * 2
