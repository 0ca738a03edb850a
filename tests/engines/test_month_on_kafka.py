"""A month of a life through all four styles of use, on two workers with Kafka and Weaviate, ends as on one machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engines.several import two_workers
from month.embedded import embedded_month
from month.month_client import WORKER, Present
from month.play import SETTINGS, play

if TYPE_CHECKING:
    from pathlib import Path

    from support.weaviate_server import WeaviateServer


async def test_the_month_ends_with_the_digest_of_the_embedded_engine(weaviate: WeaviateServer, tmp_path: Path):
    """Kafka's log has a clock of its own: commands are given after all that it has taken, in both runs alike."""
    tomorrow = datetime.now(UTC).replace(hour=1, minute=0, second=0, microsecond=0) + timedelta(days=1)
    file = tmp_path / "now"
    present = Present(file, tomorrow)
    async with two_workers(tmp_path, weaviate.url, program=(WORKER, str(file)), **SETTINGS) as two:
        on_kafka = await play([worker.url for worker in two.workers], present)
    assert on_kafka == await embedded_month(tmp_path / "embedded", tomorrow)
