"""Each extension can be taken away: its folder is not there, and the product starts, serves and remembers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.package_without import EXTENSIONS, make_product

if TYPE_CHECKING:
    from pathlib import Path

LIFE = """
import asyncio, sys
from pathlib import Path
import mnemolog.demo, mnemolog.server, projections, streams
from mnemolog.cli.local_engine import started
from mnemolog.cli import main
from mnemolog.settings import from_environment

async def live() -> None:
    settings = from_environment({}, data_dir=Path(sys.argv[1]), extractor="verbatim", partitions=1, encryption="off")
    async with await started(settings) as client:
        await client.remember("likes green tea")
        turn = {"type": "TurnRecorded", "session_id": "s", "role": "user", "content": "I live in Oslo."}
        await client.publish([turn])
        await client.drain()
        for query in ("tea", "Oslo"):
            print((await client.search("owner", query=query, limit=1))["results"][0]["content"])
        await client.erase("owner")
        print((await client.search("owner", query="tea"))["results"])

asyncio.run(live())
print(*(Path(package.__file__).parent for package in (projections, streams, mnemolog)))
sys.argv[1:] = ["--help"]
main()
"""


def lived(tmp_path: Path, *without: str) -> list[str]:
    """Return what a short life prints, in the product without these extensions."""
    product = make_product(tmp_path / "product", without)
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", LIFE, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("MNEMOLOG_")} | {"PYTHONPATH": str(product)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not any((product / folder).exists() for folder in without)
    told, _, commands = done.stdout.partition("\nCommands:\n")
    assert "\n  search " in commands
    packages = [str(product / package) for package in ("projections", "streams", "mnemolog")]
    return told.partition(f"\n{' '.join(packages)}\n")[0].splitlines()


@pytest.mark.parametrize("without", [*((folder,) for folder in EXTENSIONS), EXTENSIONS], ids="-".join)
def test_the_product_works_without_an_extension_and_without_any(tmp_path: Path, without: tuple[str, ...]):
    assert lived(tmp_path, *without) == ["likes green tea", "I live in Oslo.", "[]"]
