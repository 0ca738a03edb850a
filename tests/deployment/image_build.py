"""Does what a Dockerfile says, without a container: its files and commands below a folder that stands for `/`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTINUED = re.compile(r"\\\n\s*")
VARIABLE = re.compile(r'([A-Z_]+)=("[^"]*"|\S+)')
OURS = ("/opt/", "/build", "/data")
"""What the Dockerfile makes outside of the base image."""


@dataclass
class Stage:
    """The instructions of one stage: (name, rest) in order."""

    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        """Return what stands behind each instruction of a name."""
        return [rest for instruction, rest in self.instructions if instruction == name]

    def environment(self) -> dict[str, str]:
        """Return the variables of its ENV instructions, as written."""
        return {name: value.strip('"') for rest in self.all("ENV") for name, value in VARIABLE.findall(rest)}

    def listed(self, name: str) -> list[str]:
        """Return the one instruction of a name that is written as a JSON list."""
        (rest,) = self.all(name)
        found: list[str] = json.loads(rest)
        return found


def stages(dockerfile: Path) -> list[Stage]:
    """Read the stages of a Dockerfile."""
    found: list[Stage] = []
    lines = [line for line in dockerfile.read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]
    for line in CONTINUED.sub(" ", "\n".join(lines)).splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append(Stage(rest.split()[0]))
        else:
            found[-1].instructions.append((name, rest.strip()))
    return found


def context(ignore: Path, root: Path) -> list[Path]:
    """Return the files below `root` that `.dockerignore` lets into the build, relative: the last rule that fits counts.

    Only rules of the forms `name`, `!name` and `**/name` are understood.
    """
    rules = [line for line in ignore.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]

    def is_in(path: Path) -> bool:
        kept = True
        for rule in rules:
            anywhere = rule.startswith("**/")
            names = path.parts if anywhere else path.parts[:1]
            if any(fnmatch(name, rule.removeprefix("!").removeprefix("**/")) for name in names):
                kept = rule.startswith("!")
        return kept

    tops = [top for top in root.iterdir() if is_in(Path(top.name))]
    files = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()]
    return sorted(path.relative_to(root) for path in files if is_in(path.relative_to(root)))


class Machine:
    """A folder that stands for the root of a container's files."""

    def __init__(self, root: Path) -> None:
        """Make the folder, with a `python` like the base image's and nothing else."""
        self.root = root
        self.workdir = root
        binaries = root / "usr" / "local" / "bin"
        binaries.mkdir(parents=True)
        (binaries / "python").symlink_to(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}").resolve())
        names = ("HOME", "LANG", "TMPDIR", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.environment = kept | {"PATH": f"{binaries}:/usr/bin:/bin"}

    def here(self, text: str) -> str:
        """Return a command or path with the container's own paths moved below the folder."""
        for path in OURS:
            text = re.sub(rf"(?<![\w./]){path}", f"{self.root}{path}", text)
        return text

    def build(self, stage: Stage, files: list[Path], **arguments: str) -> None:
        """Do what a stage says: WORKDIR, ENV, ARG, COPY from the context, RUN. Raises CalledProcessError."""
        for name, rest in stage.instructions:
            if name == "WORKDIR":
                self.workdir = Path(self.here(rest))
                self.workdir.mkdir(parents=True, exist_ok=True)
            elif name == "ENV":
                self.environment |= {key: self.here(value) for key, value in VARIABLE.findall(rest)}
            elif name == "ARG":
                given = {key: value.strip('"') for key, value in VARIABLE.findall(rest)}
                self.environment |= {key: arguments.get(key, value) for key, value in given.items()}
            elif name == "COPY":
                *sources, target = rest.split()
                for source in sources:
                    self._copy(source, target, files)
            elif name == "RUN":
                subprocess.run(["/bin/sh", "-c", self.here(rest)], cwd=self.workdir, env=self.environment, check=True)  # noqa: S603
            else:
                raise ValueError(f"the build stage says {name}, which this test cannot do: teach it")

    def _copy(self, source: str, target: str, files: list[Path]) -> None:
        """Copy a file into a folder, or the files of a folder, as COPY does. LookupError when the context has none."""
        chosen = [path for path in files if path == Path(source) or path.is_relative_to(source)]
        if not chosen:
            raise LookupError(f"{source} is not in the build context: see .dockerignore")
        for path in chosen:
            inner = path.relative_to(source) if path != Path(source) else Path(path.name)
            written = self.workdir / target / inner
            written.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, written)
