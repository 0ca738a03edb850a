"""Pins what pyproject.toml requires, with hashes: requirements.txt (run time), -dev, -build, and one for each extra.

Versions that are pinned already stay unless `--upgrade` is given. The files name no index: the installing machine
decides where packages come from.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "# Written by tools/lock.py from pyproject.toml; do not edit.\n"
OPTIONS = (
    "--quiet",
    "--generate-hashes",
    "--strip-extras",
    "--allow-unsafe",
    "--no-header",
    "--no-emit-index-url",
    "--no-emit-trusted-host",
    "--no-emit-find-links",
    "--no-emit-options",
)


def pin(requirements: list[str], target: str, *options: str) -> None:
    """Write the hashed pins of `requirements` to `target`. Raises CalledProcessError if they conflict."""
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *options, "--output-file", target, "-"]
    wanted = "\n".join(requirements)
    subprocess.run(command, cwd=ROOT, input=wanted, stdout=subprocess.DEVNULL, text=True, check=True)
    pinned = (ROOT / target).read_text(encoding="utf-8").replace("-r -", "pyproject.toml")
    (ROOT / target).write_text(HEADER + pinned.removeprefix(HEADER), encoding="utf-8")
    print(f"{target}: {pinned.count(' --hash=')} hashes")


def main() -> None:
    """Pin the run time first, because the development tools must fit its versions, and not the reverse."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    options = ["--upgrade"] if arguments.parse_args().upgrade else []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pin(project["project"]["dependencies"], "requirements.txt", *options)
    pin(project["dependency-groups"]["dev"], "requirements-dev.txt", "--constraint", "requirements.txt", *options)
    for extra, wanted in project["project"]["optional-dependencies"].items():
        # An extra must fit the versions of the run time and of development.
        constraints = ("--constraint", "requirements.txt", "--constraint", "requirements-dev.txt")
        pin(wanted, f"requirements-{extra}.txt", *constraints, *options)
    tour = ("--constraint", "requirements-dev.txt")
    pin(project["dependency-groups"]["console-tour"], "requirements-console-tour.txt", *tour, *options)
    # The image builds the wheel with these alone.
    pin(project["build-system"]["requires"], "requirements-build.txt", "--constraint", "requirements-dev.txt", *options)


if __name__ == "__main__":
    main()
