"""Fetches the real servers for the engine tests into a cache outside the tree: `python tools/fetch_engines.py kafka`.

Safe to repeat and to interrupt: what Maven has downloaded stays downloaded, and the jars appear in the cache all at
once or not at all.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path.home() / ".cache" / "mnemolog"
KAFKA = "4.1.1"
LOG4J = "2.25.2"
ATTEMPTS = 3
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

DEPENDENCIES = (
    ("org.apache.kafka", "kafka_2.13", KAFKA),
    ("org.apache.kafka", "kafka-tools", KAFKA),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J),
    ("org.apache.logging.log4j", "log4j-core", LOG4J),
)


class EngineUnavailableError(Exception):
    """An engine could not be fetched; the message says what to do."""


def pom() -> str:
    """Describe a project that only depends on Kafka, so that Maven resolves Kafka's own dependencies."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in DEPENDENCIES
    )
    identity = "<groupId>mnemolog</groupId><artifactId>engines</artifactId><version>1</version>"
    return f"<project><modelVersion>4.0.0</modelVersion>{identity}<dependencies>{dependencies}</dependencies></project>"


def copy_jars(maven: str, pom_file: Path, target: Path) -> bool:
    """Let Maven put every jar into `target`, counting downloads on stdout; true when it succeeded."""
    command = [maven, "-B", "-f", str(pom_file), COPY, "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    downloads = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            if line.startswith("[ERROR]"):
                print(line.rstrip())
            elif "Downloaded from" in line and ".jar " in line:
                downloads += 1
                print(f"\r  {downloads} jars downloaded", end="", flush=True)
    print("\r" if downloads == 0 else "")
    return process.returncode == 0


def fetch_kafka(home: Path) -> Path:
    """Return the folder with Kafka's jars, fetching them when they are missing or of another version.

    EngineUnavailableError when Maven is missing or fails.
    """
    jars = home / "lib"
    if (jars / f"kafka_2.13-{KAFKA}.jar").is_file():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise EngineUnavailableError("Fetching Kafka needs Maven: install Java 17 and Maven (mvn), then try again.")
    home.mkdir(parents=True, exist_ok=True)
    print(f"Fetching Apache Kafka {KAFKA} (about 54 MB)", flush=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=home) as scratch:
        work = Path(scratch)
        (work / "pom.xml").write_text(pom(), encoding="utf-8")
        if not any(copy_jars(maven, work / "pom.xml", work / "lib") for _ in range(ATTEMPTS)):
            raise EngineUnavailableError(f"Maven failed {ATTEMPTS} times, see above. What it has, it keeps: try again.")
        if jars.exists():
            jars.rename(work / "older")
        (work / "lib").rename(jars)
    return jars


def main() -> int:
    """Fetch the engine that is named; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("engine", choices=["kafka"])
    arguments.parse_args()
    try:
        jars = fetch_kafka(CACHE / "kafka")
    except EngineUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Kafka {KAFKA}: {len(list(jars.glob('*.jar')))} jars in {jars}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
