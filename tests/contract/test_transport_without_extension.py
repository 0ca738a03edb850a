"""The embedded transport keeps its promises without Faust's C extension, too: the whole suite again, as Python.

Without the extension Faust acknowledges what it skips; with it, streams and conductor are other code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from contract.without_extension import passes_without_extension

SUITE = Path(__file__).with_name("test_transport_sqlite.py")


def test_the_suite_passes_without_the_c_extension(tmp_path: Path):
    passes_without_extension(SUITE, tmp_path / "again")


def test_the_variable_does_switch_the_extension_off():
    program = "import faust.streams; print(faust.streams._CStreamIterator)"
    environment = {**os.environ, "NO_CYTHON": "1"}
    shown = [
        subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout  # noqa: S603
        for env in (environment, {key: value for key, value in os.environ.items() if key != "NO_CYTHON"})
    ]
    assert shown[0].strip() == "None"
    assert "StreamIterator" in shown[1]
