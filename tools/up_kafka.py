"""Runs a Kafka broker, Weaviate and two workers in the foreground: `make up-kafka`, or `python tools/up_kafka.py`.

The engines come from the cache that `make engines` fills; those missing there are fetched first. Ctrl-C, SIGTERM, or
the end of any of the processes ends all of them. The data stay for the next start.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, NoReturn, Protocol

from fetch_engines import CACHE, EngineUnavailableError, fetch_kafka, fetch_weaviate, found
from kafka_process import KafkaServer
from weaviate_process import WeaviatePorts, WeaviateProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "mnemolog" / "sample" / "events.jsonl"
START_S = 120.0
STOP_S = 40.0
"""Longer than a worker takes to stop."""
LOOK_S = 0.2
OURS = (
    "MNEMOLOG_KAFKA_",
    "MNEMOLOG_CLUSTER_SECRET",
    "MNEMOLOG_URL",
    "MNEMOLOG_REPLICATION_FACTOR",
    "MNEMOLOG_WEAVIATE_API_KEY",
)
"""Settings of another installation, which would lead the workers to other engines; all others are passed to them."""
INNER = (
    "Kafka's controller",
    "Weaviate's gossip",
    "Weaviate's data",
    "Weaviate's raft",
    "Weaviate's inner raft",
    "worker 1 for worker 2",
    "worker 2 for worker 1",
)
READY = """
Kafka      {broker}
Weaviate   {weaviate}
worker 1   {one}    {one}/docs
worker 2   {two}    {two}/docs
Their logs are in {folder}/*/. Ctrl-C ends all; the data stays, and the next start finds it.

Try, in another terminal, after `. .venv/bin/activate`:

  mnemolog publish {sample} --url {one}
  mnemolog drain --url {one}
  mnemolog search "What is her dog called?" --user maya --agent nova --url {two}
  mnemolog digest --url {one}
  mnemolog doctor --url {two}
"""


class Stopped(Exception):
    """A signal asked this program to end."""


class Failed(Exception):
    """A process could not be started, or has ended; the message says which, and where to look."""


class Part(Protocol):
    """One of the processes."""

    output: Path

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None while it runs."""
        ...

    def stop(self) -> None:
        """End it gracefully."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class Worker:
    """A `mnemolog up` in a process of its own, with a folder and ports of its own."""

    def __init__(self, folder: Path, port: int, inner_port: int, environment: Mapping[str, str]) -> None:
        """Start nothing. The environment has the shared settings; the other worker connects to the inner port."""
        self.output = folder / "output.txt"
        self.url = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._port = port
        own = {"MNEMOLOG_ADVERTISED_URL": self.url, "MNEMOLOG_HOST": "127.0.0.1", "MNEMOLOG_PORT": str(port)}
        own["MNEMOLOG_INTERNAL_PORT"] = str(inner_port)
        self._environment = {**environment, **own, "MNEMOLOG_DATA_DIR": str(folder / "data")}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll() if self._process is not None else None

    def launch(self) -> None:
        """Start without waiting, in a session of its own, so that it does not receive a terminal's Ctrl-C."""
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "mnemolog", "up"]
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                command, env=self._environment, cwd=self._folder, stdout=output, stderr=output, start_new_session=True
            )

    def is_ready(self) -> bool:
        """Return whether it answers requests."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def ask_to_stop(self) -> None:
        """Ask it to leave the group and end, without waiting."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """End it, gracefully if it ends in time."""
        self.ask_to_stop()
        if self._process is not None:
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Installation:
    """The four processes, and the folder with their data and logs."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Start nothing. The options are those of `arguments`."""
        self._folder: Path = options.data.resolve()
        self._ports: dict[str, int] = {
            "--broker-port": options.broker_port,
            "--weaviate-port": options.weaviate_port,
            "--grpc-port": options.grpc_port,
            **{f"--worker-ports ({number})": port for number, port in enumerate(options.worker_ports, start=1)},
            **{f"--inner-port ({name})": options.inner_port + more for more, name in enumerate(INNER)},
        }
        inner = range(options.inner_port, options.inner_port + len(INNER))
        controller, gossip, data, raft, raft_internal, *between = inner
        self.kafka = KafkaServer(self._folder / "kafka", options.broker_port, controller=controller)
        ports = WeaviatePorts(options.weaviate_port, gossip, data, options.grpc_port, raft, raft_internal)
        self.weaviate = WeaviateProcess(self._folder / "weaviate", ports)
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        self._environment.setdefault("MNEMOLOG_ENCRYPTION", "off")
        self._environment |= {"MNEMOLOG_BROKER": f"kafka://{self.kafka.address}", "MNEMOLOG_INDEX": self.weaviate.url}
        proof = {"MNEMOLOG_CLUSTER_SECRET": token_hex(32)}  # for this start: the workers recognise each other by it
        self.workers = [
            Worker(self._folder / f"worker-{number}", port, inner_port, self._environment | proof)
            for number, (port, inner_port) in enumerate(zip(options.worker_ports, between, strict=True), start=1)
        ]

    @property
    def parts(self) -> dict[str, Part]:
        """The processes by name; those that others need come last."""
        workers = {f"worker {number}": worker for number, worker in enumerate(self.workers, start=1)}
        return {**workers, "Weaviate": self.weaviate, "Kafka": self.kafka}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against a second start. Raises Failed if another one runs there."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Failed(f"{shown(self._folder)} is in use by another `up-kafka`: end it, or give --data") from None
            yield

    def require_ports(self) -> None:
        """Raise Failed if another program has one of the ports, or if one was given twice."""
        given: dict[int, str] = {}
        for option, port in self._ports.items():
            if port in given:
                raise Failed(f"port {port} is given for {given[port]} and for {option}: choose another for one of them")
            given[port] = option
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except (OSError, OverflowError) as error:
                    name = option.partition(" ")[0]
                    advice = f"end what listens there, or choose another with {name}"
                    raise Failed(f"port {port} for {option} cannot be had ({error}): {advice}") from None

    def start(self) -> None:
        """Start all, and return when both workers answer requests. Raises Failed."""
        print("Starting Kafka and Weaviate: about 15 s", flush=True)
        self.kafka.configure()
        try:
            self.kafka.launch(own_session=True)
            self.weaviate.launch(own_session=True)
            self.kafka.wait_for_connections()
            self.weaviate.wait_until_ready()
        except subprocess.CalledProcessError as error:
            raise Failed(f"Kafka cannot format its folder: {error.stderr.decode(errors='replace')[-2000:]}") from error
        except RuntimeError as error:
            raise Failed(str(error)) from error
        print("Creating the topics and starting two workers: about 15 s", flush=True)
        self._create_topics()
        for worker in self.workers:
            worker.launch()
        deadline = time.monotonic() + START_S
        while not all(worker.is_ready() for worker in self.workers):
            self.require_all()
            if time.monotonic() > deadline:
                where = " and ".join(shown(worker.output) for worker in self.workers)
                raise Failed(f"the workers are not ready after {START_S:.0f} s: see {where}")
            time.sleep(LOOK_S)

    def announce(self) -> None:
        """Print where everything is, and what to try."""
        one, two = (worker.url for worker in self.workers)
        places = {"broker": self.kafka.address, "weaviate": self.weaviate.url, "one": one, "two": two}
        print(READY.format(**places, folder=shown(self._folder), sample=shown(SAMPLE)), flush=True)

    def follow(self) -> NoReturn:
        """Wait for a process to end, which none should. Raises Failed."""
        while True:
            self.require_all()
            time.sleep(LOOK_S)

    def require_all(self) -> None:
        """Raise Failed if a process has ended."""
        for name, part in self.parts.items():
            if part.exit_code is not None:
                raise Failed(f"{name} has ended with exit code {part.exit_code}: see {shown(part.output)}")

    def stop(self) -> None:
        """End all, those first that need others; a second signal kills the rest."""
        try:
            for worker in self.workers:
                worker.ask_to_stop()
            for part in self.parts.values():
                part.stop()
        except Stopped:
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(name, signal.SIG_IGN)
            for part in self.parts.values():
                part.kill()

    def _create_topics(self) -> None:
        command = [sys.executable, "-m", "mnemolog", "topics", "create"]
        done = subprocess.run(
            command, env=self._environment, cwd=self._folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Failed(f"the topics cannot be created: {done.stderr.strip()}")


def shown(path: Path) -> str:
    """Return a path as a person would type it in this folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def fetch() -> None:
    """Fetch the engines that are not in the cache, and continue an interrupted fetch. Raises EngineUnavailableError."""
    found("java", "Kafka", "Java 17")
    fetch_kafka(CACHE / "kafka")
    fetch_weaviate(CACHE / "weaviate")


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        prog="make up-kafka OPTIONS=…", description="Runs Kafka, Weaviate and two workers until Ctrl-C."
    )
    port = partial(parser.add_argument, type=int, metavar="PORT")
    parser.add_argument("--data", type=Path, default=ROOT / "var" / "kafka-try", help="data and logs [var/kafka-try]")
    port("--broker-port", default=9092, help="Kafka [9092]")
    port("--weaviate-port", default=8080, help="Weaviate, HTTP [8080]")
    port("--grpc-port", default=50051, help="Weaviate, gRPC [50051]")
    port("--worker-ports", default=[8420, 8421], nargs=2, help="the workers [8420 8421]")
    inner = f"the first of {len(INNER)} in a row, for the engines themselves and between the workers [9093]"
    port("--inner-port", default=9093, help=inner)
    return parser


def main() -> int:
    """Run until a signal and return 0, or until something fails and return 1."""
    options = arguments().parse_args()

    def stop(number: int, _frame: object) -> NoReturn:
        raise Stopped(signal.strsignal(number))

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, stop)
    try:
        fetch()
        installation = Installation(options)
        with installation.locked():
            installation.require_ports()
            return run(installation)
    except (Failed, EngineUnavailableError) as error:
        print(error, file=sys.stderr)
        return 1
    except Stopped:
        print("Stopped. What was fetched is kept.", file=sys.stderr)
        return 0


def run(installation: Installation) -> int:
    """Start all, wait for a signal or a failure, and end all; return the exit code."""
    try:
        installation.start()
        installation.announce()
        installation.follow()
    except Stopped:
        print("Ending the workers, then Weaviate and Kafka; Ctrl-C again kills them.", flush=True)
        return 0
    except Failed as error:
        print(f"{error}. Ending the others.", file=sys.stderr, flush=True)
        return 1
    finally:
        installation.stop()


if __name__ == "__main__":
    sys.exit(main())
