"""The plain routes of mem0's open-source server, for programs that call it over HTTP."""

from typing import Any

from fastapi import Request, Response

from mnemolog.extensions.mem0 import platform
from mnemolog.extensions.mem0.additions import Additions
from mnemolog.extensions.mem0.memories import MOST_LISTED, Memories
from mnemolog.extensions.mem0.requests import body_of
from mnemolog.extensions.mem0.whose import ENTITIES
from mnemolog.http.permissions import OF_OTHERS_PROTOCOL
from mnemolog.http.routing import answer, routes, takes_long

router = routes("mem0", access=OF_OTHERS_PROTOCOL, checks_query=False, include_in_schema=False)

# Both protocols answer these in the same way.
router.get("/memories/{memory_id}")(platform.get)
router.get("/memories/{memory_id}/history")(platform.history)
router.post("/search")(platform.search)


@router.post("/memories")
@takes_long
async def add(request: Request) -> Response:
    """Accept messages, and answer with the results of their extraction."""
    additions = Additions(request)
    adding, results = await additions.add(await body_of(request))
    return answer({"results": await additions.wait(adding, platform.WAIT_SECONDS) if results is None else results})


@router.get("/memories")
async def listed(request: Request) -> Response:
    """List the newest memories, at most 1,000; of all users if none is named."""
    query: dict[str, Any] = dict(request.query_params)
    top_k = query.get("top_k", "")
    size = min(int(top_k), MOST_LISTED) if top_k.isascii() and top_k.isdecimal() else MOST_LISTED
    results, _ = await Memories(request).page(_of_all(query), 1, max(size, 1))
    return answer({"results": results})


@router.delete("/memories")
@takes_long
async def delete_all(request: Request) -> Response:
    """Forget the memories of a user, an agent or a run."""
    await Memories(request).delete_all(dict(request.query_params))
    return answer({"message": "All relevant memories deleted"})


@router.put("/memories/{memory_id}")
async def update(request: Request, memory_id: str) -> Response:
    """Change a memory's content, metadata or expiry."""
    await Memories(request).update(memory_id, await body_of(request))
    return answer({"message": "Memory updated successfully!"})


@router.delete("/memories/{memory_id}")
async def delete(request: Request, memory_id: str) -> Response:
    """Forget a memory."""
    await Memories(request).delete(memory_id)
    return answer({"message": "Memory deleted successfully"})


@router.post("/reset")
@takes_long
async def reset(request: Request) -> Response:
    """Forget every memory of every user."""
    await Memories(request).delete_all({"filters": {"user_id": "*"}})
    return answer({"message": "All memories reset"})


def _of_all(query: dict[str, Any]) -> dict[str, Any]:
    return query if any(query.get(name) for name in ENTITIES) else query | {"filters": {"user_id": "*"}}
