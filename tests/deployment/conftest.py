"""What the deployment files are checked with: the real helm and docker-compose, built by tools/fetch_tools.py."""

from __future__ import annotations

import os

import fetch_tools
import pytest

TOOLS = {"helm": fetch_tools.HELM, "compose": fetch_tools.COMPOSE}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without its program, deselect what needs one and say so; in CI let it fail."""
    if os.environ.get("CI") == "true":
        return
    absent = {name for name, program in TOOLS.items() if not program.is_file()}
    without = [item for item in items if absent & set(getattr(item, "fixturenames", ()))]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
        print(f"\n{len(without)} tests need {' and '.join(sorted(absent))}: run `make engines`")  # noqa: T201


def program(name: str) -> str:
    """Return the path of a program; fail the test where it is missing."""
    path = TOOLS[name]
    if not path.is_file():
        pytest.fail(f"{path.name} is not in {path.parent}: run `make engines`")
    return str(path)


@pytest.fixture(scope="session")
def helm() -> str:
    """Return the path of helm."""
    return program("helm")


@pytest.fixture(scope="session")
def compose() -> str:
    """Return the path of docker-compose."""
    return program("compose")
