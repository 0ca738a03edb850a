"""Fetches the real servers for the engine tests into a cache outside the tree: `python tools/fetch_engines.py [NAME…]`.

It is safe to repeat and to interrupt, and a second one at the same time waits. Each file that Maven and Go have
downloaded or built stays in their own caches. An engine appears in our cache as a whole or not at all, in a folder or
file that names its version.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from unfinished import unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CACHE = Path.home() / ".cache" / "mnemolog"
KAFKA = "4.1.1"
LOG4J = "2.25.2"
WEAVIATE = "1.35.2"
REGISTRY = "3.0.9"
ATTEMPTS = 3
SHOW_EVERY_S = 5.0
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin"
COPY = f"{PLUGIN}:3.8.1:copy-dependencies"
GET = f"{PLUGIN}:2.10:get"
"""Later versions also read the parents of a file's project, one of which is published nowhere."""
WEAVIATE_SERVER = f"github.com/weaviate/weaviate/cmd/weaviate-server@v{WEAVIATE}"
REGISTRY_ARCHIVE = f"io.apicurio:apicurio-registry-app:{REGISTRY}:tar.gz:all"

DEPENDENCIES = (
    ("org.apache.kafka", "kafka_2.13", KAFKA),
    ("org.apache.kafka", "kafka-tools", KAFKA),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J),
    ("org.apache.logging.log4j", "log4j-core", LOG4J),
)


class EngineUnavailableError(Exception):
    """An engine could not be fetched; the message says what to do."""


def pom() -> str:
    """Return the description of a project that only depends on Kafka, so that Maven resolves Kafka's dependencies."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in DEPENDENCIES
    )
    identity = "<groupId>mnemolog</groupId><artifactId>engines</artifactId><version>1</version>"
    return f"<project><modelVersion>4.0.0</modelVersion>{identity}<dependencies>{dependencies}</dependencies></project>"


def found(command: str, needed_by: str, advice: str) -> str:
    """Return the path of a command. Raises EngineUnavailableError if it is missing."""
    path = shutil.which(command)
    if path is None:
        raise EngineUnavailableError(f"{needed_by} needs {command}: install {advice}, then try again.")
    return path


def counting(command: list[str], counts: Callable[[str], bool], what: str, **environment: str) -> bool:
    """Run a command, and print how many of its output lines count; return whether it succeeded, else print its end."""
    count, last = 0, [""]
    started = shown = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            for line in process.stdout or ():
                last = [*last[-20:], line.rstrip()]
                count += counts(line)
                if time.monotonic() - shown > SHOW_EVERY_S:
                    shown = time.monotonic()
                    print(f"  {count} {what} after {shown - started:.0f} s", flush=True)
        except BaseException:
            process.terminate()  # only this process got the signal, and its child did not
            raise
    if process.returncode != 0:
        print("\n".join(last))
    return process.returncode == 0


def maven(goal: str, *options: str) -> bool:
    """Run a goal of Maven, and print how many files it downloads; a file with a wrong checksum is refused."""
    command = [found("mvn", "This engine", "Java 17 and Maven"), "-B", "--strict-checksums", goal, *options]
    return counting(command, lambda line: "Downloaded from" in line, "files downloaded")


def repeatedly(action: Callable[[], bool], name: str) -> None:
    """Repeat an action until it succeeds, at most ATTEMPTS times. Raises EngineUnavailableError if it never does."""
    if not any(action() for _ in range(ATTEMPTS)):
        raise EngineUnavailableError(f"{name} failed {ATTEMPTS} times, see above. What it has, it keeps: try again.")


def fetch_kafka(home: Path) -> Path:
    """Return the folder with Kafka's jars, and fetch them if they are missing or of another version.

    Raises EngineUnavailableError if Maven is missing or fails.
    """
    jars = home / "lib"
    if (jars / f"kafka_2.13-{KAFKA}.jar").is_file():
        return jars
    with unfinished(home) as work:
        if (jars / f"kafka_2.13-{KAFKA}.jar").is_file():
            return jars
        print(f"Fetching Apache Kafka {KAFKA} (about 54 MB)", flush=True)
        (work / "pom.xml").write_text(pom(), encoding="utf-8")
        options = ("-f", str(work / "pom.xml"), "-DincludeScope=runtime", f"-DoutputDirectory={work / 'lib'}")
        repeatedly(lambda: maven(COPY, *options), "Maven")
        if jars.exists():
            jars.rename(work / "older")
        (work / "lib").rename(jars)
    return jars


def fetch_weaviate(home: Path) -> Path:
    """Return the path of Weaviate's server, and build it if it is missing: about 3 minutes on two cores.

    Raises EngineUnavailableError if Go is missing or fails.
    """
    server = home / f"weaviate-server-{WEAVIATE}"
    if server.is_file():
        return server
    go = found("go", "Weaviate", "Go 1.24 or newer")
    with unfinished(home) as work:
        if server.is_file():
            return server
        print(f"Building Weaviate {WEAVIATE} (about 3 minutes, 170 MB)", flush=True)
        build = [go, "install", "-v", WEAVIATE_SERVER]
        repeatedly(lambda: counting(build, lambda _: True, "modules and packages", GOBIN=str(work)), "Go")
        (work / "weaviate-server").rename(server)
    return server


def fetch_registry(home: Path) -> Path:
    """Return the folder of the Apicurio registry, and fetch it if it is missing.

    Raises EngineUnavailableError if Maven is missing or fails.
    """
    folder = home / REGISTRY
    if folder.is_dir():
        return folder
    with unfinished(home) as work:
        if folder.is_dir():
            return folder
        print(f"Fetching the Apicurio registry {REGISTRY} (about 109 MB)", flush=True)
        archive = work / "registry.tar.gz"
        options = (f"-Dartifact={REGISTRY_ARCHIVE}", "-Dtransitive=false", f"-Ddest={archive}")
        repeatedly(lambda: maven(GET, *options), "Maven")
        with tarfile.open(archive) as packed:
            packed.extractall(work / "unpacked", filter="data")
        (work / "unpacked").rename(folder)
    return folder


ENGINES: Mapping[str, Callable[[Path], Path]] = {
    "kafka": fetch_kafka,
    "weaviate": fetch_weaviate,
    "registry": fetch_registry,
}


def main() -> int:
    """Fetch the engines named on the command line, by default all; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("engines", nargs="*", metavar="NAME", help=f"of {', '.join(ENGINES)}; none: all")
    names = arguments.parse_args().engines or list(ENGINES)
    if unknown := sorted(set(names) - set(ENGINES)):
        arguments.error(f"no such engine: {', '.join(unknown)}")
    for name in (signal.SIGINT, signal.SIGTERM):  # a background process of a script ignores SIGINT
        signal.signal(name, signal.default_int_handler)
    missing = []
    for name in names:
        try:
            print(f"{name}: {ENGINES[name](CACHE / name)}", flush=True)
        except EngineUnavailableError as error:
            print(error, file=sys.stderr)
            missing.append(name)
        except KeyboardInterrupt:
            print("Stopped. What has been completed is kept: start it again and it goes on.", file=sys.stderr)
            return 128 + signal.SIGINT
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
