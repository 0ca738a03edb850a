"""Builds helm and docker-compose for the deployment tests into a cache outside the tree: `python tools/fetch_tools.py`.

It is safe to repeat and to interrupt, and a second one at the same time waits. What Go has downloaded and compiled
stays in Go's own caches, and a program appears in our cache as a whole or not at all. The first time takes a few
minutes on two cores.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from unfinished import unfinished

TOOLS = Path.home() / ".cache" / "mnemolog" / "tools"
HELM_VERSION = "v3.19.2"
COMPOSE_VERSION = "v2.40.2"
HELM = TOOLS / f"helm-{HELM_VERSION}"
COMPOSE = TOOLS / f"docker-compose-{COMPOSE_VERSION}"
ATTEMPTS = 3


class ToolUnavailableError(Exception):
    """A tool could not be built; the message says what to do."""


def missing() -> str:
    """Return the reason why the tools cannot be built here; "" if they can be, or exist already."""
    if (HELM.is_file() and COMPOSE.is_file()) or shutil.which("go"):
        return ""
    return "go not on PATH: install Go 1.24 or newer"


def build(target: Path, package: str, version: str) -> None:
    """Build a Go program into `target` unless it exists. Raises ToolUnavailableError.

    It is built from a module of our own that requires the program's module, because `go install` refuses
    docker-compose, whose module excludes others.
    """
    if target.is_file():
        return
    with unfinished(target.parent) as scratch:
        if target.is_file():
            return
        print(f"Building {target.name} (minutes, the first time)", flush=True)
        steps = (
            ["go", "mod", "init", "mnemolog/tools"],
            ["go", "get", f"{package}@{version}"],
            ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", "program", package],
        )
        for step in steps:
            if not any(_succeeds(step, scratch) for _ in range(ATTEMPTS)):
                raise ToolUnavailableError(f"{' '.join(step)} failed {ATTEMPTS} times, see above. Try again later.")
        (scratch / "program").rename(target)


def _succeeds(step: list[str], folder: Path) -> bool:
    return subprocess.run(step, cwd=folder, env={**os.environ, "GOFLAGS": "-mod=mod"}, check=False).returncode == 0


def main() -> int:
    """Build both tools; return the exit code."""
    if reason := missing():
        print(f"{reason}.", file=sys.stderr)
        return 1
    try:
        build(HELM, "helm.sh/helm/v3/cmd/helm", HELM_VERSION)
        build(COMPOSE, "github.com/docker/compose/v2/cmd", COMPOSE_VERSION)
    except ToolUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{HELM.name} and {COMPOSE.name} in {TOOLS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
