"""Runs the tests that this machine can run, and prints which ones it left out, and why.

`python tools/run_tests.py quick` runs the tests that need no engine, `rest` the other kinds, `quick rest` all. With
`CI=true` it tests the built wheel instead of the tree, from a folder without the packages, and it is a failure to leave
anything out (a kind of test, or a skipped test).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import fetch_tools
import parts

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"

QUICK = ("unit", "contract", "property", "simulation")
"""Kinds that need Python and nothing else."""

DEPLOYMENT = "deployment"
"""The kind that gives image, compose file and chart to the real tools."""

ENGINES = "engines"
"""The kind that starts the real servers."""

FAULTS = "faults"
"""The kind that kills and freezes processes."""

MATRIX = f"{FAULTS}/cluster"
"""The rows of the fault matrix: several workers on Kafka, which are timed, and want the machine for themselves."""

REST = (FAULTS, DEPLOYMENT, ENGINES)
KINDS = (*QUICK, *REST)

TESTS_SIDE_BY_SIDE = ("-n", "4", "--dist", "worksteal")
FILES_SIDE_BY_SIDE = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
"""For tests that share a server within their file. `tests/conftest.py` decides which files begin first.

There are more processes than cores, because most of these tests wait: for servers to start, and for sessions to end.
"""


def python_with_the_wheel() -> Path:
    """Build the wheel and install it into a fresh environment; return its Python.

    The dependencies are those of the environment of this program, which a path file adds. The path files in that folder
    are not read, so that the packages of the tree, which are installed there as editable, cannot be imported;
    `nothing_left_out` checks that.
    """
    wheels, environment = BUILD / "wheels", BUILD / "wheel-venv"
    shutil.rmtree(wheels, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], cwd=ROOT, check=True)
    (wheel,) = wheels.glob("*.whl")
    print(f"Installing {wheel.name} into {environment.relative_to(ROOT)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(environment)], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return environment / "bin" / "python"


def c_compiler() -> str | None:
    """Return the C compiler for the libraries that tests load before libc, None if there is none."""
    return shutil.which("cc") or shutil.which("gcc")


def missing_for_engines() -> str:
    """Fetch the engines that are missing; return the reason why their tests cannot run, "" if they can."""
    if commands := [command for command in ("java", "mvn", "go") if shutil.which(command) is None]:
        return f"{' and '.join(commands)} not on PATH: install Java 17, Maven and Go"
    fetched = subprocess.run([sys.executable, str(ROOT / "tools" / "fetch_engines.py")], check=False)
    return "an engine could not be fetched (see above)" if fetched.returncode else ""


def missing_for_deployment() -> str:
    """Build helm and docker-compose if they are missing; return why the deployment tests cannot run, "" if they can."""
    if reason := fetch_tools.missing():
        return reason
    return "helm or docker-compose could not be built (see above)" if fetch_tools.main() else ""


JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For every JVM: it compiles quickly instead of well and starts in half the time, which suits short-lived servers."""


MEMORY = Path("/dev/shm")  # noqa: S108 - in a folder that only this user may read
"""A file system in memory, where there is one: a log's fsync takes microseconds there, and milliseconds on a disk."""
MEMORY_BYTES = 4 * 2**30
"""MEMORY is used only if it has this many free bytes: pytest keeps the folders of all tests until they have ended."""
FEW_AUTHORITIES = ROOT / "tests" / "data" / "authority.pem"
"""The authorities that clients trust by default in the tests: each client takes 30 ms to read those of the system."""


@contextmanager
def in_memory() -> Iterator[dict[str, str]]:
    """Yield the variable that names a folder for temporary files in memory, if there is room; remove it afterwards."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    if not usable or shutil.disk_usage(MEMORY).free < MEMORY_BYTES or "TMPDIR" in os.environ:
        yield {}
        return
    with TemporaryDirectory(prefix="mnemolog-tests-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield {"TMPDIR": folder}


def run(python: Path, kinds: tuple[str, ...], *options: str, wheel: bool) -> bool:
    """Run pytest over the kinds; return whether every test passed and there was at least one."""
    BUILD.mkdir(exist_ok=True)
    with parts.measured(f"test: {' '.join(kinds)}"), ExitStack() as exits:
        variables: dict[str, str] = {}
        if kinds == QUICK:
            variables = {"SSL_CERT_FILE": str(FEW_AUTHORITIES)} | exits.enter_context(in_memory())
        return _passes(python, kinds, *options, wheel=wheel, variables=variables)


def _passes(python: Path, kinds: tuple[str, ...], *options: str, wheel: bool, variables: dict[str, str]) -> bool:
    folders = [str(ROOT / "tests" / kind) for kind in kinds]
    command = [str(python), "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *options]
    command += ["-p", "processor_time"]
    written = BUILD / f"processor-time-{kinds[0].replace('/', '-')}.txt"
    paths = os.pathsep.join(filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")]))
    environment = {"JDK_JAVA_OPTIONS": JAVA_OPTIONS, **os.environ}
    environment |= {"PROCESSOR_TIME": str(written), "PYTHONPATH": paths} | variables
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, every process would compile everything again
    if not wheel:
        return subprocess.run([*command, *folders], cwd=ROOT, env=environment, check=False).returncode == 0
    elsewhere = BUILD / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    strict = ["-p", "nothing_left_out", "-p", "no:cacheprovider", "--durations=40"]
    return subprocess.run([*command, *strict, *folders], cwd=elsewhere, env=environment, check=False).returncode == 0


def quick(python: Path, *, wheel: bool) -> tuple[list[str], dict[str, str]]:
    """Run the tests that need no engine; return the kinds that failed, and the reason for each kind left out."""
    passed = run(python, QUICK, *TESTS_SIDE_BY_SIDE, wheel=wheel)
    return [] if passed else [" ".join(QUICK)], {}


def rest(python: Path, *, wheel: bool) -> tuple[list[str], dict[str, str]]:
    """Run the other tests as far as their programs are installed; return the same as `quick`."""
    left_out: dict[str, str] = {}
    with parts.measured("engines: fetched or built"):
        engines, deployment = missing_for_engines(), missing_for_deployment()
    if reason := engines:
        left_out |= {ENGINES: reason, MATRIX: reason}
    if reason := deployment:
        left_out[DEPLOYMENT] = reason
    kinds = tuple(kind for kind in REST if kind not in left_out)
    failed = []
    if not run(python, kinds, *FILES_SIDE_BY_SIDE, f"--ignore={ROOT / 'tests' / MATRIX}", wheel=wheel):
        failed += [" ".join(kinds)]
    if MATRIX not in left_out and not run(python, (MATRIX,), wheel=wheel):
        failed += [MATRIX]
    return failed, left_out


def main() -> int:
    """Run the parts, the second even if the first failed, so that one run shows all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("quick", "rest"))
    parts: list[str] = parser.parse_args().parts
    wheel = os.environ.get("CI") == "true"
    python = python_with_the_wheel() if wheel else Path(sys.executable)
    failed: list[str] = []
    left_out: dict[str, str] = {}
    if c_compiler() is None:
        left_out["{unit,faults}, what looks below the process"] = "no C compiler on PATH: install gcc"
    for name, part in (("quick", quick), ("rest", rest)):
        if name in parts:
            part_failed, part_left_out = part(python, wheel=wheel)
            failed += part_failed
            left_out |= part_left_out
    for kind, reason in left_out.items():
        print(f"LEFT OUT tests/{kind}: {reason}")
    for kinds in failed:
        print(f"FAILED {kinds}")
    if "rest" not in parts:
        print(f"Not run: {', '.join(REST)}. `make test-all` runs them too: it takes longer, and for all of them needs")
        print("Java 17, Maven, Go and a C compiler. `make check` looks at format, lint, types, imports and snippets.")
    return 1 if failed or (wheel and left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
