"""A server with a certificate: commands, the client, the doctor and the image's health check reach it by TLS."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest
from support import forked_program
from support.certificates import Authority
from support.forked_program import Forked
from support.free_ports import free_ports

from mnemolog import Client, Unavailable
from mnemolog.server import HANDSHAKE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCKERFILE = Path(__file__).resolve().parents[3] / "Dockerfile"
START_SECONDS = 240.0


class Done(NamedTuple):
    """How a command ended, and what it told."""

    returncode: int
    stdout: str
    stderr: str


class Served:
    """A `mnemolog up` with a certificate of an authority of its own."""

    def __init__(self, folder: Path) -> None:
        [self.port] = free_ports(1)
        self.authority = Authority(folder / "tls")
        certificate, key = self.authority.issue("server")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_", "SSL_"))}
        self.without_authority = kept | {
            "MNEMOLOG_DATA_DIR": str(folder / "data"),
            "MNEMOLOG_PORT": str(self.port),
            "MNEMOLOG_PARTITIONS": "2",
            "MNEMOLOG_TLS_CERT_FILE": str(certificate),
            "MNEMOLOG_TLS_KEY_FILE": str(key),
        }
        self.environment = self.without_authority | {"MNEMOLOG_CA_FILE": str(self.authority.certificate)}
        self.url = f"https://127.0.0.1:{self.port}"
        self.silent: socket.socket
        """A connection that never begins to speak TLS."""
        self.process = Forked("up", environment=self.environment)

    def wait_until_ready(self) -> None:
        context = ssl.create_default_context(cafile=self.authority.certificate)
        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(verify=context, trust_env=False) as http:
            while time.monotonic() < deadline:
                assert self.process.poll() is None
                try:
                    if http.get(f"{self.url}/health/ready").is_success:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
        raise AssertionError("not ready")

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> Done:
        given = environment or self.environment
        done = forked_program.mnemolog(*arguments, environment=given, timeout=START_SECONDS)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    server = Served(folder)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.process.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with (
        serving(tmp_path_factory.mktemp("served")) as server,
        socket.create_connection(("127.0.0.1", server.port)) as server.silent,
    ):
        yield server


def test_commands_on_its_machine_and_elsewhere_check_its_certificate(served: Served):
    here, there = served.run("digest", "--json"), served.run("digest", "--json", "--url", served.url)
    assert (here.returncode, there.returncode) == (0, 0), here.stderr + there.stderr
    assert here.stdout == there.stdout
    by_openssl = served.without_authority | {"SSL_CERT_FILE": str(served.authority.certificate)}
    assert served.run("digest", "--json", "--url", served.url, environment=by_openssl).stdout == there.stdout
    refused = served.run("digest", "--url", served.url, environment=served.without_authority)
    assert (refused.returncode, "certificate verify failed" in refused.stderr) == (1, True)
    assert "Traceback" not in refused.stderr
    no_file = served.run("digest", "--url", served.url, environment=served.environment | {"MNEMOLOG_CA_FILE": "none"})
    assert (no_file.returncode, no_file.stderr) == (2, "mnemolog: MNEMOLOG_CA_FILE=none: No such file or directory\n")


def test_the_client_checks_it(served: Served):
    with Client(served.url, ca_file=served.authority.certificate) as client:
        assert client.digest()
    with Client(served.url, retries=0) as client, pytest.raises(Unavailable, match="certificate verify failed"):
        client.digest()
    with pytest.raises(ValueError, match="cannot be used as certificates of authorities"):
        Client(served.url, ca_file=Path("none.pem"))


def test_who_speaks_plainly_is_not_answered(served: Served):
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{served.port}/health/live", trust_env=False)


def test_the_doctor_says_when_the_certificate_ends(served: Served):
    rows = {one["name"]: one for one in json.loads(served.run("doctor", "--json").stdout)["checks"]}
    assert f"answers at {served.url}" in rows["log"]["detail"]
    assert re.search(r"server\.pem ends on \d{4}-\d\d-\d\d, in [12] days", rows["certificate"]["detail"])
    assert rows["certificate"]["ok"] is False, "two days are too few"
    assert "reads it again without a restart" in rows["certificate"]["advice"]
    broken = served.run("doctor", "--json", environment=served.environment | {"MNEMOLOG_TLS_KEY_FILE": "none.pem"})
    [row] = [one for one in json.loads(broken.stdout)["checks"] if one["name"] == "certificate"]
    assert (row["ok"], "No such file" in row["detail"]) == (False, True)


def test_the_health_check_of_the_image_speaks_tls_too(served: Served):
    [line] = [one for one in DOCKERFILE.read_text("utf-8").splitlines() if one.lstrip().startswith('CMD ["python"')]
    command = [sys.executable, *json.loads(line.partition("CMD ")[2])[1:]]
    for environment, code in ((served.environment, 0), (served.environment | {"MNEMOLOG_PORT": "9"}, 1)):
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=240)  # noqa: S603
        assert done.returncode == code, done.stderr


def test_a_connection_that_does_not_begin_to_speak_tls_is_closed(served: Served):
    served.silent.settimeout(2 * HANDSHAKE_SECONDS)
    assert served.silent.recv(1) == b""


def test_a_certificate_that_cannot_be_used_ends_it_with_a_sentence(served: Served):
    broken = served.environment | {"MNEMOLOG_TLS_KEY_FILE": str(served.authority.certificate), "MNEMOLOG_PORT": "0"}
    broken |= {"MNEMOLOG_DATA_DIR": f"{served.environment['MNEMOLOG_DATA_DIR']}-broken"}
    refused = served.run("up", environment=broken)
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert "mnemolog cannot start: " in refused.stderr
    assert "cannot be used as a certificate and its key" in refused.stderr


def test_it_says_where_it_answers_and_a_connection_that_says_nothing_does_not_keep_it(tmp_path: Path):
    # A server of its own: the others' tests may run in any order, and after this one.
    with serving(tmp_path) as ending, socket.create_connection(("127.0.0.1", ending.port)):
        ending.process.send_signal(signal.SIGTERM)
        _, said = ending.process.communicate(timeout=240)
        assert f"mnemolog answers at {ending.url}" in said
        assert ending.process.returncode == 0
