"""A pytest plugin for CI: the packages must come from the installed wheel, and a skipped test is a failure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PACKAGES = ("schemas", "projections", "streams", "mnemolog")


def pytest_sessionstart() -> None:
    """Refuse to start if a package would be imported from anywhere but this environment."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        origin = Path(found.origin) if found and found.origin else None
        if origin is None or not origin.is_relative_to(sys.prefix) or "site-packages" not in origin.parts:
            raise pytest.UsageError(f"{package} is {origin}: not from the wheel that is to be tested")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count skipped and expected-to-fail tests as failures: CI proves what it ran, nothing else."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    left_out = [report for outcome in ("skipped", "xfailed") for report in reporter.stats.get(outcome, [])]
    if left_out and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line("")
        reporter.write_line(f"{len(left_out)} tests were left out, which CI does not allow")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
