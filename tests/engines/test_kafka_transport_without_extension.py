"""The Kafka transport keeps its promises without Faust's C extension, too: the whole suite again, as Python."""

from __future__ import annotations

from pathlib import Path

from contract.without_extension import passes_without_extension

SUITE = Path(__file__).with_name("test_kafka_transport.py")


def test_the_suite_passes_on_kafka_without_the_c_extension(kafka: str, tmp_path: Path):
    assert kafka  # a broker of its own is started there, which needs what this one needs
    passes_without_extension(SUITE, tmp_path / "again")
