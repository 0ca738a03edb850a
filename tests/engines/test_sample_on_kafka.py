"""The bundled sample through one worker on a real Kafka ends as on the embedded engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support.master_key import MASTER_KEY

from mnemolog.sample import sample_events
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas.inputs.input_events import parse_event

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 2, tzinfo=UTC)
TICK = datetime(2026, 12, 2, tzinfo=UTC)


async def remembered(folder: Path, broker: str) -> tuple[dict[str, str], dict[str, int], dict[str, object]]:
    """Run the sample through a worker; return its digests, its counts, and what a rebuild says."""
    settings = from_environment(
        {"MNEMOLOG_MASTER_KEY": MASTER_KEY}, data_dir=folder, broker=broker, partitions=4, decay_policy="off"
    )
    worker = Worker(settings)
    await worker.start()
    try:
        messages = [parse_event(e, tenant="default", accepted_at=NOW, event_id="") for e in sample_events()]
        for begin in range(0, len(messages), 50):
            await worker.publisher.publish(messages[begin : begin + 50])
        counts = await worker.drain.run_local(120.0)
        answer = await worker.commands.tick("ladder", TICK, 60.0)
        assert answer.applied
        return await worker.shards.users.digests(), counts, await worker.rebuild.run("all")
    finally:
        await worker.stop()


async def test_the_sample_ends_with_the_digest_of_the_embedded_engine(own_kafka: str, tmp_path: Path):
    """The same events, the same decisions, the same folds: whatever carries the log."""
    embedded, counted, _ = await remembered(tmp_path / "embedded", "sqlite://")
    on_kafka, counted_there, rebuilt = await remembered(tmp_path / "kafka", f"kafka://{own_kafka}")
    assert on_kafka == embedded
    assert counted_there == counted
    assert rebuilt["equal"]
    assert rebuilt["digest_after"] == embedded["total"]
