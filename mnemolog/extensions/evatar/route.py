"""The routes, and a memory by Evatar's names."""

from functools import partial
from typing import Annotated, Any, Final

from fastapi import Query, Response
from pydantic import AfterValidator

from mnemolog.cluster.tenant_memories import REACH, summed
from mnemolog.http.dependencies import CommandId, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Asked, MemoryId, PageNumber, PageSize
from mnemolog.http.permissions import OF_USERS_OR_ALL
from mnemolog.http.problems import InvalidRequest
from mnemolog.http.routes import memories
from mnemolog.http.routing import answer, answers, page_of, routes
from projections.queries.filters import Filters
from projections.queries.tenant.memories import Wanted
from projections.queries.views import memory_view
from projections.state.memory import Memory
from schemas.identity import GLOBAL_USER, Owner, check_user_id
from schemas.inputs.input_events import Fault
from schemas.vocabulary.words import Category, MemoryType

router = routes("evatar", "/api/memories", OF_USERS_OR_ALL)


def _check_device(device: str) -> str:
    return device if device == GLOBAL_USER else check_user_id(device, field="device_id", instead=", or leave it out")


DeviceId = Annotated[str, AfterValidator(_check_device)]


class DevicesMemories(Asked):
    """Which memories Evatar lists or counts."""

    device_id: DeviceId | None = None


class EvatarsMemories(DevicesMemories):
    """Which page of them."""

    page: PageNumber = 1
    page_size: PageSize = 50
    memory_type: MemoryType | None = None
    category: Category | None = None


class EvatarMemory(responses.Shape):
    """A memory by the names of Evatar's data model; `source_id` is the photo's, article's or session's."""

    id: str
    content: str
    memory_type: str
    source_type: str
    source_id: str | None
    category: str
    importance: float
    access_count: int
    device_id: str
    created_at: str
    last_accessed: str
    expires_at: str | None


_OURS: Final = {
    "id": "memory_id",
    "source_id": "source_ref",
    "device_id": "user_id",
    "created_at": "formed_at",
    "last_accessed": "last_accessed_at",
}
"""Our names of what Evatar calls otherwise."""


class EvatarMemories(responses.Page[EvatarMemory]):
    """One page of memories, the most important first, then those last accessed."""


@router.get("", response_model=EvatarMemories)
async def listed(query: Annotated[EvatarsMemories, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """List the memories of a device, or of all, those for everyone (device `*`) included."""
    if query.device_id is None:
        if query.page * query.page_size > REACH:
            reach = f"reaches beyond the first {REACH:,} of all devices: give a device_id, or a filter"
            raise InvalidRequest(Fault("$.page", reach))
        wanted = Wanted(tenant=tenant, now=worker.clock.now(), memory_type=query.memory_type, category=query.category)
        page = await worker.tenant_memories.page(wanted, query.page, query.page_size)
        return answer(page | {"items": [_renamed(view) for view in page["items"]]})
    owner = Owner(tenant, query.device_id)
    device_memories = await _of_device(worker, owner, Filters(memory_type=query.memory_type, category=query.category))
    return answer(page_of(device_memories, partial(_view, worker, owner), query.page, query.page_size))


@router.get("/stats", response_model=responses.Stats)
async def stats(query: Annotated[DevicesMemories, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """Count the memories of a device, or of all."""
    if query.device_id is None:
        return answer(await worker.tenant_memories.stats(Wanted(tenant=tenant, now=worker.clock.now())))
    device_memories = await _of_device(worker, Owner(tenant, query.device_id), Filters())
    return answer(summed((memory.memory_type, memory.category, 1) for memory in device_memories))


@router.delete(
    "/{memory_id}", response_model=EvatarMemory, responses=answers(s202=responses.Waiting) | memories.UNKNOWN
)
async def deleted(memory_id: MemoryId, worker: CurrentWorker, tenant: Tenant, command_id: CommandId) -> Response:
    """Forget a memory: 200, with what it was, says that it can no longer be found."""
    owner = worker.queries.owner_of(tenant, memory_id)
    command = await worker.commands.forget(owner, memory_id, command_id)
    return memories.command_answer(command, owner, worker.shards, worker.clock, view=partial(_view, worker, owner))


def _view(worker: CurrentWorker, owner: Owner, memory: Memory) -> dict[str, Any]:
    return _renamed(memory_view(owner, memory, worker.clock.now()))


def _renamed(view: dict[str, Any]) -> dict[str, Any]:
    """Return a memory, given by our names, with those of Evatar's data model."""
    return {name: view[_OURS.get(name, name)] for name in EvatarMemory.model_fields}


async def _of_device(worker: CurrentWorker, owner: Owner, filters: Filters) -> list[Memory]:
    if owner.is_global:
        await worker.fold_globals()
    now = worker.clock.now()
    state = await worker.queries.state(worker.shards.resolve(owner), now)
    return await worker.queries.memories(state, filters, now)
