"""The Kafka transport keeps its promises without Faust's C extension, too: the whole suite again, as Python."""

from __future__ import annotations

from pathlib import Path

from contract.without_extension import passes_without_extension
from support.kafka_server import RUNNING

SUITE = Path(__file__).with_name("test_kafka_transport.py")


def test_the_suite_passes_on_kafka_without_the_c_extension(kafka: str, tmp_path: Path):
    passes_without_extension(SUITE, tmp_path / "again", **{RUNNING: kafka})
