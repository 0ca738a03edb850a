"""docker-compose.yml as the real docker-compose reads it; no container is started."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fetch_engines import KAFKA
from support.settings_names import unknown

from mnemolog.settings import from_environment

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"
PINNED = re.compile(r"[a-z/-]+:\d+\.\d+\.\d+")
LOOPBACK = "127.0.0.1"


def read(compose: str, *options: str, file: Path = FILE) -> subprocess.CompletedProcess[str]:
    """Let docker-compose read and resolve a file, with an environment that says nothing."""
    command = [compose, "--file", str(file), "config", *options]
    return subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture(scope="module")
def services(compose: str) -> dict[str, Any]:
    """Return the services, everything resolved."""
    done = read(compose, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)["services"]
    return found


def workers(services: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the services that run `mnemolog up`."""
    return {name: one for name, one in services.items() if name.startswith("worker-")}


def test_a_key_that_compose_does_not_know_is_refused(compose: str, tmp_path: Path):
    """So that what is accepted below means something."""
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(FILE.read_text("utf-8").replace("    restart:", "    restarts:"), "utf-8")
    done = read(compose, "-q", file=broken)
    assert done.returncode != 0
    assert "restarts" in done.stderr


def test_the_services_are_the_engines_the_topics_job_and_two_workers(services: dict[str, Any]):
    assert set(services) == {"kafka", "weaviate", "registry", "topics", "worker-1", "worker-2"}


def test_every_image_is_pinned_to_a_version(services: dict[str, Any]):
    assert [one["image"] for one in services.values() if not PINNED.fullmatch(one["image"])] == []


def test_the_broker_is_the_one_that_the_engine_tests_run(services: dict[str, Any]):
    assert services["kafka"]["image"] == f"apache/kafka:{KAFKA}"


def test_nothing_is_published_beyond_the_loopback_of_the_host(services: dict[str, Any]):
    published = [port["host_ip"] for one in services.values() for port in one.get("ports", [])]
    assert set(published) == {LOOPBACK}


def test_every_variable_of_ours_is_a_setting(services: dict[str, Any]):
    assert unknown({name for one in services.values() for name in one.get("environment", {})}) == set()


def test_the_settings_of_each_worker_can_be_used_and_keep_it_on_loopback(services: dict[str, Any]):
    for one in workers(services).values():
        settings = from_environment(one["environment"])
        assert one["network_mode"] == "host"
        assert settings.host == LOOPBACK
        assert not settings.is_embedded
        assert one["environment"]["MNEMOLOG_ENCRYPTION"] == "off"


def test_the_workers_differ_in_port_advertised_url_and_volume(services: dict[str, Any]):
    environments = [one["environment"] for one in workers(services).values()]
    ports = [environment["MNEMOLOG_PORT"] for environment in environments]
    assert len(set(ports)) == len(ports) == 2
    assert [e["MNEMOLOG_ADVERTISED_URL"] for e in environments] == [f"http://{LOOPBACK}:{port}" for port in ports]
    volumes = [one["volumes"] for one in workers(services).values()]
    assert [[volume["target"] for volume in mounted] for mounted in volumes] == [["/data"]] * 2
    assert len({mounted[0]["source"] for mounted in volumes}) == 2


def test_the_engines_are_asked_for_their_health_and_the_workers_wait_for_it(services: dict[str, Any]):
    for name in ("kafka", "weaviate", "registry"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"
    for one in workers(services).values():
        assert {name: wait["condition"] for name, wait in one["depends_on"].items()} == {
            "topics": "service_completed_successfully",
            "kafka": "service_healthy",
            "weaviate": "service_healthy",
            "registry": "service_started",
        }
        assert "healthcheck" not in one, "the image brings its own"


def test_what_must_outlive_a_container_lies_on_volumes(services: dict[str, Any]):
    kept = {volume["source"] for one in services.values() for volume in one.get("volumes", [])}
    assert kept == {"kafka", "weaviate", "worker-1", "worker-2"}


def test_no_secret_stands_in_the_file(services: dict[str, Any]):
    values = [one["environment"]["MNEMOLOG_LLM_API_KEY"] for one in workers(services).values()]
    assert values == ["", ""]
    assert re.findall(r"(?i)(password|secret|token|sk-\w+)", FILE.read_text("utf-8")) == []
