"""A pytest plugin that writes the processor seconds of each test to the file named by PROCESSOR_TIME, most first.

A test's time is that of its process and of the children that ended meanwhile, including setup and teardown. A fixture
that several tests share counts for the first of them.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

PROPERTY: Final = "processor seconds"


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + _spent_by_forks()


def _spent_by_forks() -> float:
    """Return the seconds that the fork server (see `support.forked_program`) and its forks that ended have spent.

    No process waits for that server before this process ends, so that the children's time does not include it.
    """
    servers = sys.modules.get("multiprocessing.forkserver")
    pid = None if servers is None else servers._forkserver._forkserver_pid  # noqa: SLF001 - nothing else has it
    with suppress(FileNotFoundError):
        of_server = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return sum(map(int, of_server[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class ProcessorTime:
    """Measures in the processes that run tests, and adds up in the process that gets their reports."""

    def __init__(self, file: Path | None) -> None:
        """Take the file for the sums, None if this process writes none."""
        self._file = file
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._since = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Begin to measure a test."""
        self._since = _spent()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to a phase's report the seconds that were spent since the phase before it."""
        report = yield
        now = _spent()
        report.user_properties.append((PROPERTY, now - self._since))
        self._since = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the phases of a test."""
        self._seconds[report.nodeid] += sum(
            float(str(value)) for name, value in report.user_properties if name == PROPERTY
        )

    def pytest_sessionfinish(self) -> None:
        """Write the sums, the greatest first."""
        if self._file is not None:
            most_first = sorted(self._seconds.items(), key=lambda one: -one[1])
            rows = (f"{seconds:.2f} {test}\n" for test, seconds in most_first)
            self._file.write_text("".join(rows), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process; write in the process to which the others report."""
    named = os.environ.get("PROCESSOR_TIME")
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(ProcessorTime(Path(named) if named and not is_worker else None))
