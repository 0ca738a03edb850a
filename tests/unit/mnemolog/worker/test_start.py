"""What a worker has ready before it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.embedding.builtin import BuiltinEmbedder

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_worker_has_its_encoder_at_hand_when_it_has_started(tmp_path: Path):
    worker = Worker(from_environment({}, data_dir=tmp_path))
    try:
        await worker.start()
        embedder = worker.embedder.current
        assert isinstance(embedder, BuiltinEmbedder)
        assert embedder.process.pid is not None
        assert len(embedder._cache) == 1  # it has answered
    finally:
        await worker.stop()
