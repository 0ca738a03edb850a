"""What holds for all kinds of tests: what is left out without a C compiler, and how files are shared out."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hypothesis import settings
from support.preloaded import leave_out

if TYPE_CHECKING:
    import pytest

TESTS: Final = Path(__file__).parent
DRAWN_ANEW: Final = "drawn anew"
settings.register_profile("the same", deadline=None, derandomize=True, database=None)
settings.register_profile(DRAWN_ANEW, deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("EXAMPLES", "the same"))
"""No example is drawn by chance but by `make explore`, and none fails for being slow: machines are."""

LIBRARIES = {"sync_spy", "clock_ahead", "process_clock"}
"""Fixtures that compile one."""
PRELOADED = ("[disk-full]", "[clock]")
"""The rows of the fault matrix that do."""

LONGEST: Final = (
    "simulation/test_mutants.py",
    "contract/http/test_http_isolation.py",
    "simulation/test_seeds.py",
    "contract/test_transport_without_extension.py",
    "engines/test_integrity_judge_on_kafka.py",
    "engines/test_log_away.py",
    "engines/test_month_on_kafka.py",
    "engines/test_weaviate_outage.py",
    "engines/test_kafka_transport_without_extension.py",
    "engines/test_up_kafka.py",
    "engines/test_residue_on_kafka.py",
    "engines/test_reembed_several.py",
    "engines/test_workers_with_keys.py",
    "engines/test_group_membership.py",
    "engines/test_fetch_engines.py",
    "deployment/test_image.py",
    "faults/test_openapi_holds.py",
    "faults/test_kill_points.py",
    "faults/test_commands_on_damaged_shards.py",
)
"""Files of tests that take half a minute or more, or in `make test` one test of ten seconds: they begin first, so that
no process ends with one alone.
"""


gc.disable()
"""What is collected stays: looking through it again and again is a third of the time, and so it is afterwards."""


def pytest_collection_finish() -> None:
    """Look for garbage again, though not among modules and tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be compiled here, and let the longest begin first."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(_file(item), len(places)))
    needing = [i for i in items if LIBRARIES & set(getattr(i, "fixturenames", ())) or i.name.endswith(PRELOADED)]
    leave_out(config, items, needing)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
