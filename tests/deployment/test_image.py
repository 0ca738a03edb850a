"""The image's very commands, run in an empty folder: what the Dockerfile says, without a container."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from deployment.image_build import ROOT, Machine, context, stages
from support.free_ports import free_ports
from support.tiny_encoder import write_encoder

from mnemolog.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 240
"""Only what hangs takes so long."""
GRACE_S = 10
"""How long Docker waits for a container that it stops."""

BUILD, FINAL = stages(ROOT / "Dockerfile")
CONTEXT = context(ROOT / ".dockerignore", ROOT)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
OF_WORKERS = ("mcp", "otel", "onnx", "fastembed")
"""Extras that every image has, or can be built with; the others are for the programs of agents."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Build the image's files below an empty folder, and set the final stage's environment."""
    made = Machine(tmp_path_factory.mktemp("image"))
    made.build(BUILD, CONTEXT)
    given = {name: made.here(value) for name, value in FINAL.environment().items()}
    path = given.pop("PATH").replace("$PATH", made.environment["PATH"])
    made.environment |= given | {"PATH": path, "HOME": "/nonexistent"}
    (made.root / "data").mkdir()
    return made


@contextmanager
def running(machine: Machine) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """Start the image's entrypoint with its default command; yield it with its environment when it is healthy."""
    environment = machine.environment | {"MNEMOLOG_PORT": str(free_ports(1)[0])}
    command = [*FINAL.listed("ENTRYPOINT"), *FINAL.listed("CMD")]
    output = machine.root / "output.txt"
    with (
        output.open("wb") as told,
        subprocess.Popen(command, cwd=machine.root / "data", env=environment, stdout=told, stderr=told) as process,  # noqa: S603
    ):
        try:
            deadline = time.monotonic() + START_S
            while health(machine, environment) != 0:
                assert process.poll() is None, output.read_text("utf-8")
                assert time.monotonic() < deadline, output.read_text("utf-8")
                time.sleep(0.2)
            yield process, environment
        finally:
            process.kill()


def health(machine: Machine, environment: dict[str, str]) -> int:
    """Run the image's health check; return its exit code."""
    (check,) = FINAL.all("HEALTHCHECK")
    command = json.loads(check.partition(" CMD ")[2])
    return subprocess.run(command, env=environment, cwd=machine.root, capture_output=True, check=False).returncode  # noqa: S603


def files(folder: Path) -> dict[str, int]:
    """Return every file below a folder with the time it was last written."""
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_both_stages_are_one_pinned_python():
    assert BUILD.base == FINAL.base
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", FINAL.base)


def test_the_image_runs_as_a_numbered_user_that_owns_the_data_and_nothing_else():
    (user,) = FINAL.all("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert FINAL.all("RUN") == [f"mkdir /data && chown {user} /data"]
    assert FINAL.all("VOLUME") == ["/data"]
    assert FINAL.environment()["MNEMOLOG_DATA_DIR"] == "/data"


def test_the_image_exposes_the_port_that_a_worker_takes():
    assert FINAL.all("EXPOSE") == [str(Settings().port)]
    assert [*FINAL.listed("ENTRYPOINT"), *FINAL.listed("CMD")] == ["mnemolog", "up"]


def test_the_build_sees_the_packages_the_pins_and_the_licence_and_nothing_else():
    extras = {f"requirements-{extra}.txt" for extra in OF_WORKERS}
    assert set(OF_WORKERS) <= EXTRAS.keys()
    pins = {"pyproject.toml", "requirements.txt", "requirements-build.txt", "README.md", "LICENSE"} | extras
    assert {path.parts[0] for path in CONTEXT} == {"schemas", "projections", "streams", "mnemolog"} | pins
    copied = {source for rest in BUILD.all("COPY") for source in rest.split()[:-1]}
    assert copied == {path.parts[0] for path in CONTEXT}


def test_what_pip_installs_is_pinned_by_hash_or_built_here():
    installs = [one for rest in BUILD.all("RUN") for one in rest.split(" && ") if " install " in one]
    assert len(installs) == 4
    assert [one for one in installs if "--require-hashes" not in one and "--no-deps --no-index" not in one] == []


def test_the_installed_packages_fit_together(machine: Machine):
    checked = [str(machine.root / "opt" / "mnemolog" / "bin" / "pip"), "check"]
    done = subprocess.run(checked, env=machine.environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout


def test_an_extra_has_the_versions_of_what_the_image_has_already():
    pin = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)
    usual = dict(pin.findall((ROOT / "requirements.txt").read_text("utf-8")))
    for extra, wanted in EXTRAS.items():
        pinned = dict(pin.findall((ROOT / f"requirements-{extra}.txt").read_text("utf-8")))
        assert {name.partition(">=")[0] for name in wanted} <= pinned.keys()
        assert {name: pinned[name] for name in pinned.keys() & usual.keys()}.items() <= usual.items()


def test_an_image_with_an_extra_has_the_encoder_and_one_without_says_what_to_build(machine: Machine, tmp_path: Path):
    folder = write_encoder(tmp_path / "tiny")
    up = [*FINAL.listed("ENTRYPOINT"), "doctor"]
    environment = machine.environment | {"MNEMOLOG_EMBEDDING_MODEL": f"onnx:{folder}"}
    done = subprocess.run(up, env=environment, cwd=machine.root / "data", capture_output=True, text=True, check=False)  # noqa: S603
    assert "needs the package onnxruntime" in done.stdout + done.stderr
    (extra,) = [rest for rest in BUILD.all("RUN") if "$EXTRA" in rest]
    command = machine.here(extra).replace(" install ", f" install --no-deps --target {tmp_path / 'onnx'} ")
    built = machine.environment | {"EXTRA": "onnx"}
    subprocess.run(["/bin/sh", "-c", command], cwd=machine.workdir, env=built, check=True)  # noqa: S603
    tried = machine.environment | {
        "MNEMOLOG_EMBEDDING_MODEL": f"onnx:{folder}",
        "PYTHONPATH": str(tmp_path / "onnx"),
    }
    done = subprocess.run(up, env=tried, cwd=machine.root / "data", capture_output=True, text=True, check=False)  # noqa: S603
    assert re.search(r"ok .* onnx:tiny#[0-9a-f]{12}: 24 dimensions", done.stdout), done.stdout + done.stderr


def test_a_worker_serves_writes_only_its_data_and_stops_within_the_grace(machine: Machine):
    before, began = files(machine.root / "opt"), time.monotonic()
    with running(machine) as (process, environment):
        started = time.monotonic() - began
        answer = httpx.get(f"http://127.0.0.1:{environment['MNEMOLOG_PORT']}/health/ready", timeout=START_S)
        assert answer.json() == {"status": "ready", "conditions": []}
        process.send_signal(signal.SIGTERM)
        assert process.wait(GRACE_S + started) == 0  # a machine that is slow to stop it was slow to start it
        assert health(machine, environment) != 0
    assert files(machine.root / "opt") == before
    assert {path.name for path in (machine.root / "data").iterdir()} >= {"log", "shards"}


def test_a_worker_is_not_brought_to_listen_beyond_loopback_without_api_keys(machine: Machine):
    command = [*FINAL.listed("ENTRYPOINT"), "up", "--host", "0.0.0.0"]  # noqa: S104 - what is refused
    done = subprocess.run(  # noqa: S603
        command, cwd=machine.root, env=machine.environment, capture_output=True, text=True, check=False, timeout=START_S
    )
    assert done.returncode != 0
    assert "without API keys the server listens on loopback only" in done.stderr
