"""Each extension can be taken away: its folder is not there, and the product starts, serves and remembers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.package_without import EXTENSIONS, make_package

if TYPE_CHECKING:
    from pathlib import Path

LIFE = """
import asyncio, sys
from pathlib import Path
import mnemolog, mnemolog.cli.program, mnemolog.demo, mnemolog.server
from mnemolog.cli.local_engine import started
from mnemolog.settings import from_environment

async def live() -> None:
    settings = from_environment({}, data_dir=Path(sys.argv[1]), extractor="verbatim", partitions=1, encryption="off")
    async with await started(settings) as client:
        await client.remember("likes green tea")
        [found] = (await client.search("owner", query="tea"))["results"]
        print(Path(mnemolog.__file__).parent, found["content"])
        await client.erase("owner")
        print((await client.search("owner", query="tea"))["results"])

asyncio.run(live())
"""


def live(tmp_path: Path, *without: str) -> list[str]:
    """Return what a short life prints, in a package without these extensions."""
    package = make_package(tmp_path / "package", without)
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", LIFE, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("MNEMOLOG_")} | {"PYTHONPATH": str(package)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_product_works_without_an_extension(tmp_path: Path, name: str):
    package = tmp_path / "package" / "mnemolog"
    assert live(tmp_path, name) == [f"{package} likes green tea", "[]"]
    assert not (package / "extensions" / name).exists()


def test_the_product_works_without_any_extension(tmp_path: Path):
    assert live(tmp_path, *EXTENSIONS)[0].endswith("likes green tea")
