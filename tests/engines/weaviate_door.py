"""A worker whose index is in a Weaviate of its own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer


@asynccontextmanager
async def door_of(folder: Path, node: WeaviateServer) -> AsyncIterator[FrontDoor]:
    """Run a worker on this node; its data is in `folder`."""
    async with front_door(folder / "worker", index=node.url) as door:
        yield door


async def found(door: FrontDoor, user_id: str, text: str) -> list[str]:
    """Return the memories that a search finds, best first."""
    answer = await door.post(
        "/v1/search", {"user_id": user_id, "query": text, "include": ["memories"], "recall": False}
    )
    assert answer.status_code == HTTPStatus.OK, answer.text
    return [result["memory"] for result in answer.json()["results"]]
