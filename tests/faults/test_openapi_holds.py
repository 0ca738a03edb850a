"""What the OpenAPI document allows and what it does not is sent to a `mnemolog up`: each answer is as described.

Schemathesis makes the requests: of every parameter and body the bounds, values beyond them, and values at random, and
then whole sequences. Nothing is answered by a 5xx, and no status, shape or media type comes that the document has not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest
from support.free_ports import free_ports
from support.mnemolog_up import Up

from mnemolog.access.key import Limits, new_key
from mnemolog.access.key_file import write_keys
from mnemolog.access.principal import Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_SECONDS = 600.0
"""Only what hangs takes so long: the machine may be busy."""
SEED = "14"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "negative_data_rejection",
    "unsupported_method",
    "use_after_free",
)
"""Not that every request of the right shape is accepted: shapes do not say all, such as that a day has been."""
IN_FULL = ("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "5")
IN_SHORT = ("--phases", "fuzzing", "--max-examples", "5")
STREAM = "/v1/wakes/stream"
"""Left out: it never ends."""


class Served(NamedTuple):
    """A server that asks for keys, and the texts of keys that it knows."""

    url: str
    keys: dict[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, now = tmp_path_factory.mktemp("served"), datetime.now(UTC)
    made = {
        "everything": new_key(tenant="acme", roles=list(Role), now=now),
        "narrowed": new_key(tenant="acme", roles=[Role.READ, Role.WRITE], now=now, users=("ana",), agents=("luna",)),
        "reader": new_key(tenant="acme", roles=[Role.READ], now=now),
        "limited": new_key(
            tenant="acme", roles=list(Role), now=now, limits=Limits(requests_per_second=4.0, events_per_day=2)
        ),
    }
    write_keys(folder / "keys.json", [key for key, _ in made.values()])
    [port] = free_ports(1)
    up = Up(folder / "data", port, MNEMOLOG_API_KEYS_FILE=str(folder / "keys.json"))
    try:
        wait_until_live(up.url)
        yield Served(up.url, {name: text for name, (_, text) in made.items()})
    finally:
        code, said = up.end(signal.SIGTERM)
    assert (code, "a bug" in said) == (0, False), said


def wait_until_live(url: str) -> None:
    """Return when a server that asks for keys is ready. Raises AssertionError."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.get(f"{url}/health/ready").is_success:
                return
        time.sleep(0.1)
    raise AssertionError(f"not ready within {PATIENCE_SECONDS} s")


@pytest.mark.parametrize(
    ("caller", "options", "told"),
    [
        ("everything", IN_FULL, ""),
        ("narrowed", IN_SHORT, "Authentication failed"),
        ("reader", IN_SHORT, "Authentication failed"),
        ("limited", IN_SHORT, "Rate limited"),
        ("nobody", IN_SHORT, "Authentication failed"),
    ],
)
def test_every_answer_is_as_described(server: Served, tmp_path: Path, caller: str, options: tuple[str, ...], told: str):
    """`told` is what schemathesis itself warns of: the keys were refused where they have to be."""
    document = httpx.get(f"{server.url}/openapi.json", timeout=PATIENCE_SECONDS).json()
    operations = sum(len(methods) for path, methods in document["paths"].items() if path != STREAM)
    text = server.keys.get(caller)
    key = () if text is None else ("--header", f"X-API-Key: {text}")
    ended = send_everything(server.url, tmp_path, *options, *key)
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2_000:]
    assert f"Tested: {operations}\n" in ended.stdout
    assert told in ended.stdout


def send_everything(url: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Have requests made for every operation of the document at a URL, and the answers checked."""
    program = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--checks", ",".join(CHECKS)]
    settings = [
        "--seed",
        SEED,
        "--request-timeout",
        "120",
        "--generation-database",
        "none",
        "--no-color",
        "--exclude-path",
        STREAM,
    ]
    environment = os.environ | {"NO_PROXY": "127.0.0.1"}
    return subprocess.run(  # noqa: S603 - ours
        [*program, *settings, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
