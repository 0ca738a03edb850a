"""What holds for all kinds of tests: without a C compiler those that look below the process are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.preloaded import leave_out

if TYPE_CHECKING:
    import pytest

LIBRARIES = {"sync_spy", "clock_ahead"}
"""Fixtures that compile one."""
DISK_FULL = "disk-full"
"""The row of the fault matrix that does."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be compiled here."""
    needing = [i for i in items if LIBRARIES & set(getattr(i, "fixturenames", ())) or f"[{DISK_FULL}]" in i.name]
    leave_out(config, items, needing)
