"""Tools and a retriever in the frameworks themselves, with a model that says what a test wants, against a worker."""

from __future__ import annotations

import signal
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server."""
    up = ForkedUp(tmp_path_factory.mktemp("up"), free_ports(1)[0])
    up.wait_until_ready()
    yield up.url
    up.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def runs() -> Any:
    """Give what the tests do in the frameworks, whose import takes seconds: two processes collect this file."""
    return import_module("contract.integrations.framework_runs")


def test_langchain_tools_remember_and_find(runs: Any, url: str) -> None:
    runs.langchain_tools_remember_and_find(url)


async def test_langchain_tools_and_the_retriever_work_with_await(runs: Any, url: str) -> None:
    await runs.langchain_tools_and_the_retriever_work_with_await(url)


def test_a_graph_runs_on_the_store_and_the_tools(runs: Any, url: str) -> None:
    runs.a_graph_runs_on_the_store_and_the_tools(url)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")  # to langchain, which is another package
async def test_a_react_agent_keeps_and_finds_in_the_store(runs: Any, url: str) -> None:
    await runs.a_react_agent_keeps_and_finds_in_the_store(url)


async def test_an_openai_agent_remembers_by_its_tool(runs: Any, url: str) -> None:
    await runs.an_openai_agent_remembers_by_its_tool(url)
