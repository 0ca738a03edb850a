"""Bodies of requests between workers: about all users of a tenant, shards to copy, and memories that are shared."""

from typing import Annotated

from pydantic import Field

from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import MAX_EVENTS, MAX_PAGE_SIZE, Id, Instant, KnownQuestion
from projections.queries.tenant.memories import Grouping as Grouped
from schemas.vocabulary.words import Category, MemoryType, UsageGrouping


class ShardWanted(Body):
    """The partition whose shard a worker wants to copy."""

    partition: Annotated[int, Field(ge=0)]


class UsagePart(Body):
    """Which of a worker's costs another worker adds up."""

    by: UsageGrouping
    since: Instant | None = None
    until: Instant | None = None


class ReembedPart(Body):
    """The encoder whose vectors a worker is to make of its share."""

    encoder: Annotated[str, Field(min_length=1, max_length=4_096)]


class OwnedQuestion(KnownQuestion):
    """A question of a user of a tenant, and the ids of what answers it."""

    tenant: str


class ComparisonPart(ReembedPart):
    """Questions of which a worker asks those of its users, as of a moment."""

    questions: Annotated[list[OwnedQuestion], Field(min_length=1, max_length=MAX_EVENTS)]
    now: Instant


class ClockPart(Body):
    """What time it is, as an operator says, and how long a worker may take to take it in."""

    as_of: Instant
    timeout: float


class ReextractPart(Body):
    """Which rejected windows a worker is to extract again; a user is named with the tenant."""

    before: Instant
    tenant: str | None = None
    user_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None


class SharedMemory(Body):
    """What a user of the worker is to import, in base64 as it will stand in the log."""

    message: str


class TenantMemories(Body):
    """Which memories of all users of a worker are asked for, by another worker."""

    tenant: str
    now: Instant
    memory_type: MemoryType | None = None
    category: Category | None = None


class TenantNames(TenantMemories):
    """What they are counted by, and how many names after which one."""

    by: Grouped
    after: str
    limit: Annotated[int, Field(ge=1)]
    agent_id: str | None = None
    session_id: str | None = None
    app_id: str | None = None


class TenantPlaces(TenantMemories):
    """How many of them, the most important first."""

    first: Annotated[int, Field(ge=1)]


class TenantItems(TenantMemories):
    """Which of them."""

    memory_ids: Annotated[list[Id], Field(max_length=MAX_PAGE_SIZE)]
