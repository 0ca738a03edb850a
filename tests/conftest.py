"""What holds for all kinds of tests: what is left out without a C compiler, and how files are shared out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from support.preloaded import leave_out

TESTS: Final = Path(__file__).parent

LIBRARIES = {"sync_spy", "clock_ahead"}
"""Fixtures that compile one."""
DISK_FULL = "disk-full"
"""The row of the fault matrix that does."""

LONGEST: Final = (
    "engines/test_log_away.py",
    "engines/test_kafka_transport_without_extension.py",
    "engines/test_weaviate_outage.py",
    "engines/test_up_kafka.py",
    "engines/test_month_on_kafka.py",
)
"""Files of tests that wait for a minute or more: they begin first, so that no process ends with one alone."""
APART: Final = {"engines/test_weaviate_outage.py", "faults/test_commands_on_damaged_shards.py"}
"""Files of long tests, each of which has servers and folders of its own: several may run at a time."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be compiled here; let the longest begin first, and say which tests belong together.

    With `--dist loadgroup` the tests of a group run one after the other in one process, so that they share servers.
    """
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(_file(item), len(places)))
    for item in items:
        if _file(item) not in APART:
            item.add_marker(pytest.mark.xdist_group(_file(item)))
    needing = [i for i in items if LIBRARIES & set(getattr(i, "fixturenames", ())) or f"[{DISK_FULL}]" in i.name]
    leave_out(config, items, needing)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
