"""Files as other programs write them: compressed, in UTF-16, as an array, and through a pipe."""

from __future__ import annotations

import gzip
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from mnemolog.cli.invocation import exit_code
from mnemolog.cli.lines.event_lines import BadLine
from mnemolog.cli.lines.reader import read_files, sizes
from mnemolog.environment import named_settings

if TYPE_CHECKING:
    from pathlib import Path

TURN = json.dumps({"type": "TurnRecorded", "user_id": "u", "session_id": "s", "role": "user", "content": "我 café"})


async def lines(*names: str) -> list[str]:
    """Return the content of each line, or what is wrong with it."""
    found = [line async for part, _ in read_files(names) for line in part]
    return [line.error if isinstance(line, BadLine) else line.event["content"] for line in found]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(f"{TURN}\n".encode()),
        f"{TURN}\r\n".encode("utf-16"),
        f"\ufeff{TURN}\n".encode("utf-16-be"),
        f"\ufeff{TURN}\n".encode(),
    ],
)
async def test_a_file_is_read_as_it_was_written(tmp_path: Path, content: bytes):
    (tmp_path / "events").write_bytes(content)
    assert await lines(str(tmp_path / "events")) == ["我 café"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(f"[{TURN}]\n".encode(), "is a JSON array"), ('{"content": "café"}\n'.encode("latin-1"), "no UTF-8")],
)
async def test_what_is_not_read_is_named(tmp_path: Path, content: bytes, said: str):
    (tmp_path / "events").write_bytes(content)
    [error] = await lines(str(tmp_path / "events"))
    assert said in error


async def test_a_pipe_is_read_to_its_end_and_has_no_size():
    out, into = os.pipe()

    def write() -> None:
        os.write(into, f"{TURN}\n{TURN}\n".encode())
        os.close(into)

    writer = threading.Thread(target=write)
    writer.start()
    assert sizes([f"/dev/fd/{out}"]) is None
    assert await lines(f"/dev/fd/{out}") == ["我 café"] * 2
    writer.join()
    os.close(out)


async def test_a_closed_stdin_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="stdin is closed"):
        await lines("-")


def test_output_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    async def command() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdout", None)
    assert exit_code(command) == 1
    assert capsys.readouterr().err == "mnemolog: No space left on device\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MNEMOLOG_PORT", "tcp://10.0.0.1:8420"),
        ("MNEMOLOG_SERVICE_HOST", "10.0.0.1"),
        ("MNEMOLOG_SERVICE_PORT_HTTP", "8420"),
        ("MNEMOLOG_PORT_8420_TCP_ADDR", "10.0.0.1"),
        ("MNEMOLOG_MAIN_SERVICE_PORT", "8420"),
        ("MNEMOLOG_MAIN_PORT", "udp://10.0.0.1:8420"),
    ],
)
def test_the_service_links_of_kubernetes_are_no_settings(name: str, value: str):
    assert named_settings({name: value, "MNEMOLOG_PORT_": "x"}) == ["MNEMOLOG_PORT_"]


def test_a_port_is_a_setting():
    assert named_settings({"MNEMOLOG_PORT": "8420"}) == ["MNEMOLOG_PORT"]
