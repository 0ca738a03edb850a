"""Export, import and erasure over HTTP: memories as lines, from here or from other systems."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from http import HTTPStatus
from typing import Annotated, Any

import orjson
from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.http.bounds.json_body import NDJSON, body_of_lines, read_events
from mnemolog.http.bounds.redacted import agent_of, apart, redacted_line
from mnemolog.http.dependencies import Caller, CommandId, CurrentQuota, CurrentWorker, Tenant
from mnemolog.http.models.exchange_responses import ErasuresListed, Imported, Preview, Receipt
from mnemolog.http.models.requests import (
    MAX_EVENTS,
    MAX_WAIT_SECONDS,
    NO_FILTERS,
    AppId,
    FiltersInQuery,
    Id,
    UserOrNone,
)
from mnemolog.http.permissions import IMPORTING, OF_ERASURES, OF_TENANT, check_owner, needs
from mnemolog.http.problems import MAX_ERRORS, InvalidRequest, Problem
from mnemolog.http.routing import answer, answers, refused, routes, takes_long
from mnemolog.imports.importer import parse_line
from mnemolog.imports.results import WAITING
from mnemolog.imports.snapshot import BESIDES
from mnemolog.operations.erasing.erasure import ErasedBefore, NotErasedYet, NothingKnown
from projections.queries.export import export_of
from projections.queries.filters import Filters
from schemas.identity import GLOBAL_USER, Owner, check_user_id
from schemas.inputs.input_events import Fault, InvalidEvent
from schemas.inputs.slices import in_slices
from schemas.vocabulary.words import Scope
from streams.agents.erasure_gate import ErasureRunning

CHUNK_BYTES = 1 << 16
Wait = Annotated[
    float,
    Query(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False, description="seconds to wait until all are decided"),
]
_LINES: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK.value: {
        "description": "one JSON object a line",
        "content": {NDJSON[0]: {"schema": {"type": "string"}}},
    }
}
_BODY = body_of_lines("one memory, an array of memories, or the lines of an export")

router = routes("exchange", "/v1", OF_TENANT)


@router.get("/users/{user_id:text}/export", response_class=StreamingResponse, responses=_LINES)
async def export(
    *,
    user_id: str,
    worker: CurrentWorker,
    tenant: Tenant,
    scope: Annotated[Scope, Query(description="`global`: what everyone knows, instead of the user's own")] = "personal",
    filters: Annotated[FiltersInQuery, Query()] = NO_FILTERS,
    session_id: Id | None = None,
    app_id: AppId | None = None,
) -> Response:
    """Return a user's memories, whatever their status, wakes to come, then every event about the memories, one a line.

    Wakes to come are the reminders that wait, and the periodic wake unless it is the settings' own. With filters, a
    session or an application it is the memories that meet them with their events, and no wakes.
    The last line has the type `Exported` and counts the others: without it the export is not whole.
    """
    check_user_id(user_id)
    if scope == "global":
        await worker.fold_globals()
    owner = Owner(tenant, GLOBAL_USER if scope == "global" else user_id)
    scoped = filters.within(session_id=session_id, app_id=app_id)
    await worker.shards.load(owner)
    lines = export_of(worker.shards, owner, worker.clock.now(), Filters(**dict(scoped)))
    return StreamingResponse(_chunks(lines, worker.is_in_session), media_type=NDJSON[0])


@router.post("/import", response_model=Imported, responses=answers(s202=Imported), openapi_extra=_BODY)
@takes_long
@needs(IMPORTING)
async def import_(
    *,
    request: Request,
    worker: CurrentWorker,
    caller: Caller,
    tenant: Tenant,
    quota: CurrentQuota,
    user_id: Annotated[UserOrNone | None, Query(description="whose they become; default: each line's own")] = None,
    wait: Wait = 5.0,
) -> Response:
    """Import memories, reminders and periodic wakes, at most 1,000: 200 when all are decided, else 202.

    Importing again changes nothing.

    All are checked first: one bad line refuses the request. The history in an export is read over.
    """
    raws, many = await read_events(await request.body(), request.headers.get("content-type", ""), MAX_EVENTS)
    now = worker.clock.now()
    faults: list[Fault] = []
    lines: list[Any] = []
    owners: set[Owner] = set()
    async for place, raw in in_slices(enumerate(raws)):
        if isinstance(raw, dict) and raw.get("type") in BESIDES:
            continue
        try:
            redacted = await apart(redacted_line, worker.redactions.of(tenant, agent_of(raw)), raw)
            ids = worker.sealing.word_ids
            owners.add(parse_line(redacted, tenant=tenant, user_id=user_id, accepted_at=now, ids=ids).owner)
            lines.append(redacted)
        except InvalidEvent as error:
            root = f"$[{place}]" if many else "$"
            faults += [Fault(root + f.path.removeprefix("$"), f.message) for f in error.faults]
        if len(faults) > MAX_ERRORS:
            break
    if faults:
        raise InvalidRequest(*faults)
    for owner in owners:
        check_owner(caller, owner.user_id, None)
    quota.take(len(lines))
    items = await worker.importer.import_all(tenant, lines, user_id, wait)
    actions = Counter(item["action"] for item in items)
    waiting, known, refusals = actions[WAITING], actions["nothing"], actions["refused"]
    counts = {"imported": len(items) - waiting - known - refusals, "known": known, "waiting": waiting}
    body = {"items": items, "refused": refusals} | counts | {"skipped": len(raws) - len(lines)}
    return answer(body, HTTPStatus.ACCEPTED if waiting else HTTPStatus.OK)


@router.delete(
    "/users/{user_id:text}",
    response_model=Receipt | Preview,
    responses=refused(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE),
)
@takes_long
async def erase(
    *,
    user_id: str,
    worker: CurrentWorker,
    tenant: Tenant,
    command_id: CommandId,
    preview: Annotated[bool, Query(description="show what would be removed, and change nothing")] = False,
    force: Annotated[
        bool, Query(description="also a user of whom nothing is known, whose events may be on the way")
    ] = (False),
) -> Response:
    """Erase a user for good: everything that was published, remembered and set. The same id then starts empty.

    The receipt says what remains readable, where, and until when. Memories shared by the whole tenant stay, and so do
    copies in other users' memories.
    """
    check_user_id(user_id)
    owner = Owner(tenant, user_id)
    if preview:
        return answer(await worker.user_erasures.preview(owner))
    try:
        return answer(await worker.user_erasures.erase(owner, command_id, force=force))
    except NothingKnown as error:
        raise Problem(HTTPStatus.NOT_FOUND, str(error)) from error
    except (ErasureRunning, ErasedBefore) as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    except NotErasedYet as error:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error


@router.get("/erasures", response_model=ErasuresListed)
@needs(OF_ERASURES)
async def erasures(worker: CurrentWorker, tenant: Tenant) -> Response:
    """Return the erasures of the tenant, the oldest first, without names, and the key that verifies their receipts."""
    return answer(await worker.erasure_list.of(tenant))


async def _chunks(lines: Iterator[dict[str, Any]], is_in_session: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield lines in chunks; other requests are served between them.

    The last line, which marks the export as complete, is left out if another worker may have decided meanwhile.
    """
    ready: list[bytes] = []
    size = 0
    for line in lines:
        if line["type"] == "Exported" and not is_in_session():
            break
        ready.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        size += len(ready[-1])
        if size >= CHUNK_BYTES:
            yield b"".join(ready)
            ready, size = [], 0
            await asyncio.sleep(0)
    yield b"".join(ready)
