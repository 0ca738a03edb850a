"""Runs every test that this machine can run, and says which ones it left out and why.

With `CI=true` the built wheel is tested instead of the tree, in an environment of its own and from a folder without
the packages, and leaving anything out (a kind of test, or a skipped test) is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fetch_tools

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"

TOGETHER = ("unit", "contract", "property", "simulation")
"""Kinds that share nothing between files: two files run at a time."""

ALONE = ("faults",)
"""Kinds that kill, freeze and time processes: one test at a time."""

ENGINES = "engines"
"""The kind that starts the real servers."""

DEPLOYMENT = "deployment"
"""The kind that gives image, compose file and chart to the real tools."""

KINDS = (*TOGETHER, *ALONE, DEPLOYMENT, ENGINES)


def python_with_the_wheel() -> Path:
    """Build the wheel and install it, with the pinned dependencies, into a fresh environment; return its Python."""
    wheels, environment = BUILD / "wheels", BUILD / "wheel-venv"
    shutil.rmtree(wheels, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], cwd=ROOT, check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet"]
    pins = ["-r", "requirements.txt", "-r", "requirements-dev.txt"]
    print(f"Installing {wheel.name} and what it needs into {environment.relative_to(ROOT)}", flush=True)
    subprocess.run([*install, "--require-hashes", "--only-binary", ":all:", *pins], cwd=ROOT, check=True)
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    return python


def c_compiler() -> str | None:
    """Return the program that compiles what tests load before libc, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


def missing_for_engines() -> str:
    """Fetch the engines that are not there yet; say what keeps their tests from running, empty when nothing does."""
    if commands := [command for command in ("java", "mvn", "go") if shutil.which(command) is None]:
        return f"{' and '.join(commands)} not on PATH: install Java 17, Maven and Go"
    fetched = subprocess.run([sys.executable, str(ROOT / "tools" / "fetch_engines.py")], check=False)
    return "an engine could not be fetched (see above)" if fetched.returncode else ""


def missing_for_deployment() -> str | None:
    """Build helm and docker-compose where they are not there yet; say what keeps the deployment tests from running."""
    if reason := fetch_tools.missing():
        return reason
    return "helm or docker-compose could not be built (see above)" if fetch_tools.main() else None


def run(python: Path, kinds: tuple[str, ...], *options: str, wheel: bool) -> bool:
    """Run pytest over the kinds; true when every test passed and there was at least one."""
    folders = [str(ROOT / "tests" / kind) for kind in kinds]
    command = [str(python), "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *options]
    if not wheel:
        return subprocess.run([*command, *folders], cwd=ROOT, check=False).returncode == 0
    elsewhere = BUILD / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    strict = ["-p", "nothing_left_out", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    return subprocess.run([*command, *strict, *folders], cwd=elsewhere, env=environment, check=False).returncode == 0


def main() -> int:
    """Run everything, even after a failure, so that one run tells all; return the exit code."""
    wheel = os.environ.get("CI") == "true"
    python = python_with_the_wheel() if wheel else Path(sys.executable)
    left_out = {kind: "it holds no test" for kind in KINDS if not any((ROOT / "tests" / kind).glob("**/test_*.py"))}
    if c_compiler() is None:
        left_out["{unit,faults}, what looks below the process"] = "no C compiler on PATH: install gcc"
    together = tuple(kind for kind in TOGETHER if kind not in left_out)
    failed = []
    if together and not run(python, together, "-n", "2", "--dist", "loadfile", wheel=wheel):
        failed += [" ".join(together)]
    no_engines = missing_for_engines()  # before the faults, whose matrix needs Kafka
    failed += [kind for kind in ALONE if kind not in left_out and not run(python, (kind,), wheel=wheel)]
    if (reason := missing_for_deployment()) is not None:
        left_out[DEPLOYMENT] = reason
    elif not run(python, (DEPLOYMENT,), wheel=wheel):
        failed += [DEPLOYMENT]
    if no_engines:
        left_out[ENGINES] = no_engines
    elif ENGINES not in left_out and not run(python, (ENGINES,), wheel=wheel):
        failed += [ENGINES]
    for kind, reason in left_out.items():
        print(f"LEFT OUT tests/{kind}: {reason}")
    for kinds in failed:
        print(f"FAILED {kinds}")
    return 1 if failed or (wheel and left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
