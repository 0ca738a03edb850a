"""`make up-kafka`: two workers on real engines answer, keep what they were told, and leave no process behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import up_kafka
from support.free_ports import free_ports, is_free

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = Path(up_kafka.__file__)
READY_SECONDS = 400.0
END_SECONDS = 180.0
"""Only what hangs takes so long."""
STOPPED = {"Starting Kafka and Weaviate": (1.5, signal.SIGINT), "Creating the topics": (1.0, signal.SIGTERM)}
"""When it is stopped, and how: so many seconds after it has said so."""
RESERVED = len(up_kafka.INNER)


def port_row(length: int) -> int:
    """Return the first of some ports in a row that are free now."""
    for _ in range(100):
        first, *_, last = free_ports(length)
        if last == first + length - 1:
            return first
    raise RuntimeError(f"no {length} free ports in a row")


class UpKafka:
    """The tool with its own folder and ports, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        broker, weaviate, grpc, one, two = free_ports(5)
        inner = port_row(RESERVED)
        self.folder = folder
        self.ports = [broker, weaviate, grpc, one, two, *range(inner, inner + RESERVED)]
        self.urls = [f"http://127.0.0.1:{port}" for port in (one, two)]
        options = {"--data": folder, "--broker-port": broker, "--weaviate-port": weaviate, "--grpc-port": grpc}
        options["--inner-port"] = inner
        given = [str(part) for option in options.items() for part in option]
        self._command = [sys.executable, str(TOOL), *given, "--worker-ports", str(one), str(two)]
        self._output = folder.parent / "said.txt"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when it says what to try. Raises AssertionError."""
        self.launch()
        self.wait_for("mnemolog search")

    def wait_for(self, words: str) -> None:
        """Return when it says something. Raises AssertionError."""
        deadline = time.monotonic() + READY_SECONDS
        while words not in self.said():
            assert self.process is not None
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)

    def launch(self) -> None:
        """Start without waiting."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own program
                self._command, stdout=output, stderr=subprocess.STDOUT, env=kept, start_new_session=True
            )

    def said(self) -> str:
        """Return what this start has said."""
        return self._output.read_text("utf-8")

    def end(self, number: int) -> int:
        """Send a signal to it alone, and return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(END_SECONDS)

    def left(self) -> dict[int, str]:
        """Return the processes that name its folder, each with its command line and its environment."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                told = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            except OSError:
                continue  # it has ended
            if str(self.folder).encode() in told:
                found[int(place.name)] = told.decode(errors="replace")
        return found

    def kill_all(self) -> None:
        """Leave nothing behind, whatever a test has found."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def up(tmp_path: Path, kafka_jars: None, weaviate_program: None) -> Iterator[UpKafka]:
    """Return the tool, not started; the engines are there, which it would fetch otherwise."""
    del kafka_jars, weaviate_program  # asked for, so that this is left out where the engines are not there
    one = UpKafka(tmp_path / "kafka-try")
    try:
        yield one
    finally:
        one.kill_all()


def search(url: str, user: str) -> list[str]:
    """Search once; who is refused fails."""
    asked = {"user_id": user, "query": "Where does she live?", "include": ["memories"], "recall": False}
    answer = httpx.post(f"{url}/v1/search", json=asked, timeout=END_SECONDS)
    assert answer.status_code == httpx.codes.OK, answer.text
    return [one["memory"] for one in answer.json()["results"]]


def test_what_one_worker_was_told_the_other_finds_also_after_a_second_start_and_all_end_when_one_does(up: UpKafka):
    up.start()
    one, two = up.urls
    users = [f"u{number}" for number in range(8)]
    turns = [
        {"type": "TurnRecorded", "event_id": user, "user_id": user, "session_id": "s", "role": "user",
         "content": "I live in Bern."}
        for user in users
    ]  # fmt: skip
    assert httpx.post(f"{one}/v1/events", json=turns, timeout=END_SECONDS).status_code == httpx.codes.ACCEPTED
    assert httpx.post(f"{two}/v1/admin/drain", json={"timeout": 120}, timeout=END_SECONDS).is_success
    found = [search(two, user) for user in users]
    assert found == [search(one, user) for user in users]
    assert all("Bern" in "".join(memories) for memories in found)
    digest = httpx.get(f"{two}/v1/admin/digest", timeout=END_SECONDS).json()

    assert up.end(signal.SIGINT) == 0, up.said()
    assert up.left() == {}
    assert [port for port in up.ports if not is_free(port)] == []

    up.start()
    assert [search(one, user) for user in users] == found
    assert httpx.get(f"{one}/v1/admin/digest", timeout=END_SECONDS).json() == digest
    [worker] = [pid for pid, told in up.left().items() if "mnemolog\0up" in told and "worker-2/data" in told]
    os.kill(worker, signal.SIGKILL)
    assert up.process is not None
    assert up.process.wait(END_SECONDS) == 1
    assert f"worker 2 has ended with exit code -9: see {up.folder}/worker-2/output.txt" in up.said()
    assert up.left() == {}


def test_it_may_be_stopped_by_either_signal_while_it_starts(up: UpKafka):
    for words, (seconds, number) in STOPPED.items():
        up.launch()
        up.wait_for(words)
        time.sleep(seconds)
        assert up.end(number) == 0, up.said()
        assert up.left() == {}


def test_a_port_that_is_taken_is_named_with_the_option_that_changes_it(up: UpKafka):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", up.ports[3]))
        taken.listen()
        up.launch()
        assert up.process is not None
        assert up.process.wait(END_SECONDS) == 1
    assert f"port {up.ports[3]} for --worker-ports (1) cannot be had" in up.said()
    assert "choose another with --worker-ports" in up.said()
    assert up.left() == {}
