"""The routes of mem0's platform, which its `MemoryClient` uses in Python and JavaScript, also in older versions."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request, Response

from mnemolog.extensions.mem0.additions import Additions
from mnemolog.extensions.mem0.memories import DEFAULT_PAGE, MOST_A_PAGE, MOST_IN_BATCH, Memories
from mnemolog.extensions.mem0.projects import Projects
from mnemolog.extensions.mem0.requests import body_of
from mnemolog.extensions.mem0.shapes import Adding
from mnemolog.http.permissions import OF_OTHERS_PROTOCOL, reads
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, routes, takes_long

router = routes("mem0", access=OF_OTHERS_PROTOCOL, checks_query=False, include_in_schema=False)
ORGANISATION: Final = "mnemolog"
WAIT_SECONDS: Final = 60.0
"""How long a request waits for its results if the client does not poll for the event."""
MOST_PAGES: Final = 1_000_000
QUEUED: Final = "Memory processing has been queued for background execution"
UPDATED: Final = "Successfully updated {} memories"
DELETED: Final = "Successfully deleted {} memories"


@router.get("/v1/ping/")
async def ping() -> Response:
    """Confirm that the key is valid. The client requires an organisation and a project in the answer."""
    return answer({"status": "ok", "org_id": ORGANISATION, "project_id": ORGANISATION, "user_email": None})


@router.post("/v3/memories/add/")
@takes_long
async def add(request: Request) -> Response:
    """Accept messages; with `infer` false they are stored at once."""
    adding, results = await Additions(request).add(await body_of(request))
    return answer(_queued(adding) if results is None else _done(adding, results))


@router.post("/v1/memories/")
@takes_long
async def add_before(request: Request) -> Response:
    """Accept messages from clients that use an earlier version of the protocol."""
    body = await body_of(request)
    additions = Additions(request)
    adding, results = await additions.add(body)
    if results is None and body.get("async_mode") is False:
        results = await additions.wait(adding, WAIT_SECONDS)
    listed = [_queued(adding)] if results is None else results
    return answer({"results": listed, "relations": []} if body.get("output_format") == "v1.1" else listed)


@router.get("/v1/event/{event_id}/")
async def event(request: Request, event_id: str) -> Response:
    """Return the state of added messages."""
    return answer(await Additions(request).event(event_id))


@router.post("/v3/memories/search/")
@reads
@takes_long
async def search(request: Request) -> Response:
    """Search memories."""
    return answer({"results": await Memories(request).search(await body_of(request))})


@router.post("/v2/memories/search/")
@router.post("/v1/memories/search/")
@reads
@takes_long
async def search_before(request: Request) -> Response:
    """Search for clients that use an earlier version of the protocol."""
    body = await body_of(request)
    results = await Memories(request).search(body)
    return answer({"results": results} if body.get("output_format") == "v1.1" else results)


@router.post("/v3/memories/")
@reads
async def listed(request: Request) -> Response:
    """List memories, page by page."""
    return answer(await _page(request, await body_of(request)))


@router.post("/v2/memories/")
@router.get("/v1/memories/")
@reads
async def listed_before(request: Request) -> Response:
    """List memories for clients of an earlier version, which send a body or a query; paged only on request."""
    body = await body_of(request) if request.method == "POST" else dict(request.query_params)
    page = await _page(request, body)
    return answer(page if "page" in request.query_params or "page" in body else page["results"])


@router.delete("/v1/memories/")
@takes_long
async def delete_all(request: Request) -> Response:
    """Forget the memories of a user, an agent, an application or a run."""
    await Memories(request).delete_all(dict(request.query_params))
    return answer({"message": "Memories deleted successfully!"})


@router.get("/v1/memories/{memory_id}/")
async def get(request: Request, memory_id: str) -> Response:
    """Return one memory."""
    return answer(await Memories(request).get(memory_id))


@router.put("/v1/memories/{memory_id}/")
async def update(request: Request, memory_id: str) -> Response:
    """Change a memory's content, metadata or expiry."""
    return answer(await Memories(request).update(memory_id, await body_of(request)))


@router.delete("/v1/memories/{memory_id}/")
async def delete(request: Request, memory_id: str) -> Response:
    """Forget a memory."""
    linked = request.query_params.get("delete_linked", "").lower() == "true"
    others = await Memories(request).delete(memory_id, with_superseded=linked)
    return answer({"message": "Memory deleted successfully!"} | ({"cascade_count": others} if linked else {}))


@router.get("/v1/memories/{memory_id}/history/")
async def history(request: Request, memory_id: str) -> Response:
    """Return what happened to a memory."""
    return answer(await Memories(request).history(memory_id))


@router.put("/v1/batch/")
@takes_long
async def update_many(request: Request) -> Response:
    """Change several memories, one after another; the first failure ends the batch."""
    memories = Memories(request)
    wanted = _batch(await body_of(request))
    for one in wanted:
        await memories.update(one["memory_id"], {k: v for k, v in one.items() if k != "memory_id"})
    return answer({"message": UPDATED.format(len(wanted))})


@router.delete("/v1/batch/")
@takes_long
async def delete_many(request: Request) -> Response:
    """Forget several memories, one after another; the first unknown one ends the batch."""
    memories = Memories(request)
    wanted = _batch(await body_of(request))
    for one in wanted:
        await memories.delete(one["memory_id"])
    return answer({"message": DELETED.format(len(wanted))})


@router.get("/v1/entities/")
@takes_long
async def entities(request: Request) -> Response:
    """Return the users, agents, applications and runs that memories name."""
    found = await Memories(request).entities()
    totals = {f"total_{kind}s": sum(one["type"] == kind for one in found) for kind in ("user", "agent", "app", "run")}
    return answer({"count": len(found), "next": None, "previous": None, "results": found, **totals})


@router.delete("/v1/entities/{kind}/{name:path}/")
@router.delete("/v2/entities/{kind}/{name:path}/")
@takes_long
async def delete_entity(request: Request, kind: str, name: str) -> Response:
    """Erase a user for good; of an agent, an application or a run forget the memories."""
    await Memories(request).delete_entity(kind, name)
    return answer({"message": "Entity deleted successfully!"})


@router.post("/v1/feedback/")
async def feedback(request: Request) -> Response:
    """Store feedback about a memory."""
    body = await body_of(request)
    memory_id, given, reason = body.get("memory_id"), body.get("feedback"), body.get("feedback_reason")
    if not isinstance(memory_id, str) or not memory_id:
        raise Problem(HTTPStatus.BAD_REQUEST, "memory_id is missing: say what the feedback is about")
    if given not in (None, "POSITIVE", "NEGATIVE", "VERY_NEGATIVE"):
        raise Problem(HTTPStatus.BAD_REQUEST, "feedback must be POSITIVE, NEGATIVE, VERY_NEGATIVE or null")
    await Memories(request).feedback(memory_id, given, reason if isinstance(reason, str) else None)
    return answer({"id": memory_id, "feedback": given, "feedback_reason": reason})


@router.get("/api/v1/orgs/organizations/{organisation}/projects/{project}/")
async def project(request: Request, organisation: str, project: str) -> Response:
    """Return the settings of the project: the tenant's policy."""
    _check_project(organisation, project)
    shown = await Projects(request).shown()
    wanted = request.query_params.getlist("fields")
    return answer({name: value for name, value in shown.items() if not wanted or name in wanted})


@router.patch("/api/v1/orgs/organizations/{organisation}/projects/{project}/")
async def update_project(request: Request, organisation: str, project: str) -> Response:
    """Change settings of the project."""
    _check_project(organisation, project)
    await Projects(request).update(await body_of(request))
    return answer({"message": "Project updated successfully!"})


def _check_project(organisation: str, project: str) -> None:
    """Raise Problem unless it is the project that `ping` names."""
    if (organisation, project) != (ORGANISATION, ORGANISATION):
        raise Problem(HTTPStatus.NOT_FOUND, f"there is one project here: {ORGANISATION} of {ORGANISATION}")


def _queued(adding: Adding) -> dict[str, Any]:
    return {"message": QUEUED, "status": "PENDING", "event_id": adding.name}


def _done(adding: Adding, results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"message": "Memories stored", "status": "SUCCEEDED", "event_id": adding.name, "results": results}


async def _page(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """Return the requested page, with the URLs of the previous and the next one."""
    page = _positive(request, body, "page", 1)
    size = min(_positive(request, body, "page_size", DEFAULT_PAGE), MOST_A_PAGE)
    results, total = await Memories(request).page(body, page, size)
    base = str(request.url.replace(query=""))

    def beside(number: int) -> str:
        return f"{base}?{urlencode({'page': number, 'page_size': size})}"

    return {
        "count": total,
        "next": beside(page + 1) if page * size < total else None,
        "previous": beside(page - 1) if page > 1 else None,
        "results": results,
    }


def _positive(request: Request, body: dict[str, Any], name: str, default: int) -> int:
    value = request.query_params.get(name, body.get(name, default))
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if not 1 <= number <= MOST_PAGES:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be a number from 1 to {MOST_PAGES}")
    return number


def _batch(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a batch. Raises Problem."""
    wanted = body.get("memories")
    if not isinstance(wanted, list) or not all(
        isinstance(one, dict) and isinstance(one.get("memory_id"), str) and one["memory_id"] for one in wanted
    ):
        raise Problem(HTTPStatus.BAD_REQUEST, 'memories must be a list of objects, such as [{"memory_id": "…"}]')
    if len(wanted) > MOST_IN_BATCH:
        raise Problem(HTTPStatus.BAD_REQUEST, f"Maximum of {MOST_IN_BATCH} memories can be changed in a single request")
    return wanted
