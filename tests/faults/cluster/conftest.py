"""Rows of the fault matrix need Kafka. In CI a missing Kafka fails them."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

import pytest
from faults.cluster.numbered_facts import SHORT, Workload
from faults.cluster.row_run import undisturbed_digest
from faults.cluster.rows import rows_of
from support import kafka_server


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which rows are run today. Without its jars, deselect what needs Kafka and say so; in CI let it fail."""
    rows = [item for item in items if "undisturbed" in getattr(item, "fixturenames", ())]
    if not rows:
        return
    if kafka_server.is_installed() or os.environ.get("CI") == "true":
        names = ", ".join(row.name for row in rows_of(datetime.now(UTC).date()))
        print(f"\nRows of the fault matrix today: {names}")  # noqa: T201
    else:
        config.hook.pytest_deselected(items=rows)
        items[:] = [item for item in items if item not in rows]
        print(f"\n{len(rows)} rows of the fault matrix need Kafka: run `make engines`")  # noqa: T201


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of the short workload on the embedded engine."""
    if not kafka_server.is_installed():
        pytest.fail(f"Kafka is not in {kafka_server.JARS}: run `make engines`")
    return asyncio.run(undisturbed_digest(Workload(SHORT), tmp_path_factory.mktemp("undisturbed")))
