"""The Kafka transport keeps its promises without Faust's C extension, too: the whole suite again, as Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).with_name("test_kafka_transport.py")
ROOT = Path(__file__).parents[2]


def test_the_suite_passes_on_kafka_without_the_c_extension(kafka: str, tmp_path: Path):
    assert kafka  # a broker of its own is started there, which needs what this one needs
    environment = {**os.environ, "NO_CYTHON": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "no:cacheprovider", "-q"]
    command = [sys.executable, "-m", "pytest", *options, "--basetemp", str(tmp_path / "again"), str(SUITE)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stdout[-5000:]
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
