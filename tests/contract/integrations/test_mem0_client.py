"""mem0's own clients on a real `mnemolog up`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from contract.integrations.mem0_suite import Mem0Suite
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `mnemolog up`, and yield its URL."""
    up = ForkedUp(tmp_path_factory.mktemp("up"), free_ports(1)[0])
    up.wait_until_ready()
    yield up.url
    up.end(signal.SIGTERM)


class TestEmbedded(Mem0Suite):
    """On the embedded engine."""
