"""The broker of docker-compose.yml: its variables through the set-up step that the image runs, then started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml
from aiokafka.admin import AIOKafkaAdminClient
from support import kafka_server
from support.free_ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("default", "mounted", "final")
LOGGING = (
    "Configuration: {Properties: {}, Appenders: {Console: {name: STDOUT}}, Loggers: {Root: {level: INFO}, Logger: []}}"
)
"""What the set-up step expects to find in the image and adds to."""


async def test_the_broker_of_docker_compose_is_set_up_and_advertises_both_its_listeners(kafka: str, tmp_path: Path):
    del kafka  # asked for, so that this is left out where Kafka is not there
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    here, inside, controller = free_ports(3)
    replaced = {
        ":9092": f":{here}",
        "kafka:19092": f"127.0.0.1:{inside}",
        ":19092": f":{inside}",
        ":9093": f":{controller}",
        "/var/lib/kafka/data": str(tmp_path / "data"),
    }
    environment = dict(composed["services"]["kafka"]["environment"])
    for old, new in replaced.items():
        environment = {name: value.replace(old, new) for name, value in environment.items()}
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / "default" / "server.properties").touch()
    for name in ("log4j2.yaml", "tools-log4j2.yaml"):
        (tmp_path / "default" / name).write_text(LOGGING, "utf-8")
    folders = [text for name in FOLDERS for text in (f"--{name}-configs-dir", str(tmp_path / name))]
    set_up = ["java", "-cp", f"{kafka_server.JARS}/*", "kafka.docker.KafkaDockerWrapper", "setup", *folders]
    done = subprocess.run(  # noqa: S603, ASYNC221 - nothing else runs meanwhile
        set_up, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with kafka_server.running_kafka(tmp_path / "final", here):
        for port in (here, inside):
            admin = AIOKafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}")
            await admin.start()
            try:
                (broker,) = (await admin.describe_cluster())["brokers"]
            finally:
                await admin.close()
            assert (broker["host"], broker["port"]) == ("127.0.0.1", port)
