"""Tests against real engines: they need what `make engines` fetches. In CI a missing engine fails them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from support import kafka_server, registry_server, weaviate_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENGINES: Final = {
    "kafka": kafka_server,
    "kafka_jars": kafka_server,
    "own_kafka": kafka_server,
    "secure_kafka": kafka_server,
    "weaviate": weaviate_server,
    "weaviate_program": weaviate_server,
    "node": weaviate_server,
    "registry": registry_server,
    "own_registry": registry_server,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs an engine that is not there, and say so; in CI let it fail."""
    if os.environ.get("CI") == "true":
        return
    for fixture, engine in ENGINES.items():
        missing = [item for item in items if fixture in getattr(item, "fixturenames", ()) and not engine.is_installed()]
        if missing:
            config.hook.pytest_deselected(items=missing)
            items[:] = [item for item in items if item not in missing]
            print(f"\n{len(missing)} tests need the engine {fixture}: run `make engines`")  # noqa: T201


@pytest.fixture
def kafka_jars() -> None:
    """Ask for Kafka to be there; nothing is started."""
    if not kafka_server.is_installed():
        pytest.fail(f"Kafka is not in {kafka_server.JARS}: run `make engines`")


@pytest.fixture
def weaviate_program() -> None:
    """Ask for Weaviate to be there; nothing is started."""
    if not weaviate_server.is_installed():
        pytest.fail(f"Weaviate is not in {weaviate_server.CACHE}: run `make engines`")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one broker for all tests of the session; yield its `host:port`."""
    if there := os.environ.get(kafka_server.RUNNING):
        yield there
        return
    if not kafka_server.is_installed():
        pytest.fail(f"Kafka is not in {kafka_server.JARS}: run `make engines`")
    with kafka_server.running_kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one broker for all tests of a file, for topics are named alike in all of them; yield its `host:port`."""
    if not kafka_server.is_installed():
        pytest.fail(f"Kafka is not in {kafka_server.JARS}: run `make engines`")
    with kafka_server.running_kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="session")
def weaviate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[weaviate_server.WeaviateServer]:
    """Run one node for all tests of the session."""
    if not weaviate_server.is_installed():
        pytest.fail(f"Weaviate is not in {weaviate_server.CACHE}: run `make engines`")
    with weaviate_server.running_weaviate(tmp_path_factory.mktemp("weaviate")) as node:
        yield node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[weaviate_server.WeaviateServer]:
    """Run a node that a test may kill, or build generations on."""
    if not weaviate_server.is_installed():
        pytest.fail(f"Weaviate is not in {weaviate_server.CACHE}: run `make engines`")
    folder = tmp_path / "weaviate"
    folder.mkdir()
    with weaviate_server.running_weaviate(folder) as one:
        yield one


@pytest.fixture(scope="session")
def one_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[registry_server.RegistryServer]:
    """Prepare one registry for all tests of the session, which the first one starts."""
    if not registry_server.is_installed():
        pytest.fail(f"the registry is not in {registry_server.CACHE}: run `make engines`")
    one = registry_server.RegistryServer(tmp_path_factory.mktemp("registry"))
    yield one
    one.stop()


@pytest.fixture(scope="module")
def own_registry(one_registry: registry_server.RegistryServer) -> Iterator[registry_server.RegistryServer]:
    """Run a registry that nobody has registered anything in, for all tests of a file."""
    with _empty(one_registry) as one:
        yield one


@pytest.fixture
def registry(one_registry: registry_server.RegistryServer) -> Iterator[registry_server.RegistryServer]:
    """Run a registry that nobody has registered anything in; a test may stop, freeze and start it."""
    with _empty(one_registry) as one:
        yield one


@contextmanager
def _empty(one: registry_server.RegistryServer) -> Iterator[registry_server.RegistryServer]:
    """Start a registry that does not run, and leave none of what is registered meanwhile."""
    if not one.is_running:
        one.start()
    yield one
    if one.is_running:  # else its memory is gone
        one.thaw()
        one.clear()
