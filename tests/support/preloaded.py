"""Libraries that a process loads before libc. Their tests are left out where there is no C compiler."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from run_tests import c_compiler

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def compiled(source: Path, folder: Path) -> Path:
    """Compile a library into a folder, and return its path."""
    compiler, library = c_compiler(), folder / f"{source.stem}.so"
    assert compiler, f"a C compiler is needed for {source.name}: install gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)  # noqa: S603
    return library


def leave_out(config: pytest.Config, items: list[pytest.Item], needing: list[pytest.Item]) -> None:
    """Deselect the tests that need a C compiler if there is none, and print that; in CI let them fail."""
    if needing and c_compiler() is None and os.environ.get("CI") != "true":
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]
        print(f"\n{len(needing)} tests need a C compiler: install gcc")  # noqa: T201
