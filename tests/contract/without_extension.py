"""A suite of tests again, in a process in which Faust is Python only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def passes_without_extension(suite: Path, folder: Path, **variables: str) -> None:
    """Assert that a file's tests all pass without Faust's C extension, and that none is skipped."""
    environment = {**os.environ, "NO_CYTHON": "1", "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "no:cacheprovider", "-q"]
    command = [sys.executable, "-m", "pytest", *options, "--basetemp", str(folder), str(suite)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stdout[-5000:]
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
