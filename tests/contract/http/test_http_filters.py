"""The filter language over HTTP, with the embedded index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.filter_suite import FilterSuite, fill
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        await fill(opened)
        yield opened


class TestEmbedded(FilterSuite):
    """On the embedded index."""
