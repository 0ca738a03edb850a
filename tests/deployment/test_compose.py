"""docker-compose.yml as the real docker-compose reads it; no container is started."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
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
    assert set(services) == {"keys", "kafka", "weaviate", "registry", "topics", "worker-1", "worker-2"}


def test_every_image_is_pinned_to_a_version(services: dict[str, Any]):
    assert [one["image"] for one in services.values() if not PINNED.fullmatch(one["image"])] == []


def test_the_broker_is_the_one_that_the_engine_tests_run(services: dict[str, Any]):
    assert services["kafka"]["image"] == f"apache/kafka:{KAFKA}"


def test_only_the_workers_are_published_and_on_the_loopback_of_the_host(services: dict[str, Any]):
    published = {
        name: [(port["host_ip"], port["published"], port["target"]) for port in one["ports"]]
        for name, one in services.items()
        if "ports" in one
    }
    assert published == {"worker-1": [(LOOPBACK, "8420", 8420)], "worker-2": [(LOOPBACK, "8421", 8420)]}
    assert {name for name, one in services.items() if "network_mode" in one} == {"keys"}
    assert services["keys"]["network_mode"] == "none"


def test_every_variable_of_ours_is_a_setting(services: dict[str, Any]):
    assert unknown({name for one in services.values() for name in one.get("environment", {})}) == set()


def test_the_settings_of_each_worker_can_be_used_and_want_keys(services: dict[str, Any]):
    for name, one in workers(services).items():
        settings = from_environment(one["environment"])
        assert (settings.host, settings.tls) == ("0.0.0.0", "elsewhere")  # noqa: S104 - of the container
        assert settings.url_for_workers == f"http://{name}:8421"
        assert not settings.is_embedded
        assert one["environment"]["MNEMOLOG_ENCRYPTION"] == "off"
        mounted = {volume["source"]: volume for volume in one["volumes"]}
        assert mounted["keys"]["read_only"]
        for file in (settings.api_keys_file, settings.cluster_secret_file):
            assert file is not None
            assert str(file.parent) == mounted["keys"]["target"]


def test_the_workers_differ_in_advertised_url_and_volume(services: dict[str, Any]):
    urls = [one["environment"]["MNEMOLOG_ADVERTISED_URL"] for one in workers(services).values()]
    assert urls == ["http://worker-1:8420", "http://worker-2:8420"]
    data = [v["source"] for one in workers(services).values() for v in one["volumes"] if v["target"] == "/data"]
    assert data == ["worker-1", "worker-2"]


def test_keys_are_made_once_for_their_user_alone_and_shown_to_nobody(services: dict[str, Any], tmp_path: Path):
    """The service's own script, with a folder in the place of its volume."""
    one = services["keys"]
    (script,) = [text.replace("$$", "$").replace("/data", str(tmp_path)) for text in one["command"]]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {name: value.replace("/data", str(tmp_path)) for name, value in one["environment"].items()}
    before: dict[str, str] = {}
    for _ in range(2):
        done = subprocess.run(  # noqa: S603 - the file's own
            [*one["entrypoint"], script], env=environment | {"PATH": path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        made = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
        assert set(made) >= {"api-keys.json", "cluster-secret", "first-key.json"}
        assert {stat.S_IMODE(file.lstat().st_mode) for file in tmp_path.iterdir()} == {0o600}
        assert json.loads(made["first-key.json"])["key"] not in done.stdout + done.stderr + made["api-keys.json"]
        assert made["cluster-secret"].strip() not in done.stdout + done.stderr
        assert before in ({}, made)
        before = made


def test_the_engines_are_asked_for_their_health_and_the_workers_wait_for_it(services: dict[str, Any]):
    for name in ("kafka", "weaviate", "registry"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"
    for one in workers(services).values():
        assert {name: wait["condition"] for name, wait in one["depends_on"].items()} == {
            "keys": "service_completed_successfully",
            "topics": "service_completed_successfully",
            "kafka": "service_healthy",
            "weaviate": "service_healthy",
            "registry": "service_started",
        }
        assert "healthcheck" not in one, "the image brings its own"


def test_what_must_outlive_a_container_lies_on_volumes(services: dict[str, Any]):
    kept = {volume["source"] for one in services.values() for volume in one.get("volumes", [])}
    assert kept == {"keys", "kafka", "weaviate", "worker-1", "worker-2"}


def test_no_secret_stands_in_the_file(services: dict[str, Any]):
    values = [one["environment"]["MNEMOLOG_LLM_API_KEY"] for one in workers(services).values()]
    assert values == ["", ""]
    assert re.findall(r"(?i)(password|sk-\w+|mnl_|[0-9a-f]{32})", FILE.read_text("utf-8")) == []
