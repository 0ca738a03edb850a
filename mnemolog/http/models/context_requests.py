"""Bodies and queries of context, greeting and relationship."""

from typing import Annotated, Literal

from pydantic import Field

from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import (
    MAX_FOUND,
    MAX_PAGE_SIZE,
    AppId,
    Asked,
    ExcludedSources,
    Id,
    Included,
    Instant,
    KnownAt,
    MinRelevance,
    PageNumber,
    PageSize,
    Query,
    SearchFilters,
    Shallow,
    Unit,
    UserId,
)
from schemas.vocabulary.words import Tier

MAX_WORKING_MEMORY = 1_000
MAX_TOKENS = 100_000
MAX_DAYS_AHEAD = 366


class Context(Body):
    """Which context an agent gets for its next answer; a blank query finds nothing and shows the rest."""

    user_id: UserId
    agent_id: Id | None = None
    session_id: Annotated[Id, Field(description="by default that of conversations without one")] | None = None
    app_id: AppId | None = None
    query: Query
    tier: Tier = "paid"
    intimacy: (
        Annotated[
            float, Field(ge=0, le=100, allow_inf_nan=False, description="by default the last that a turn carried")
        ]
        | None
    ) = None
    include_global: bool = True
    top_k: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 5
    memory_limit: Annotated[int, Field(ge=0, le=MAX_PAGE_SIZE)] = 8
    history_limit: Annotated[int, Field(ge=0, le=MAX_PAGE_SIZE)] = 10
    working_memory: (
        Annotated[
            list[Shallow],
            Field(max_length=MAX_WORKING_MEMORY, description="by default the last turns of the session"),
        ]
        | None
    ) = None
    similarity_threshold: (
        Annotated[Unit, Field(description="least cosine of a relevant episode; by default as configured")] | None
    ) = None
    filters: SearchFilters = SearchFilters()
    recall: bool = True
    marked: Annotated[bool, Field(description="whether each line says where it is from")] = False
    exclude_sources: ExcludedSources = Field(default_factory=list)
    include: Included = ["memories", "turns"]  # noqa: RUF012 - pydantic copies it
    min_relevance: MinRelevance | None = None
    lang: Annotated[Literal["auto", "zh", "en"], Field(description="of `text`; auto: in which the user writes")] = (
        "auto"
    )
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS, description="about how many `text` takes at most")] = 800


class Greeting(Body):
    """Whom to greet."""

    user_id: UserId
    agent_id: Id | None = None


class EmotionsAsked(Asked):
    """Which feelings to show."""

    agent_id: Id | None = None
    since: Instant | None = None
    until: Instant | None = None
    page: PageNumber = 1
    page_size: PageSize = 50
    as_of: Instant | None = None
    known_at: KnownAt = None


class UpcomingAsked(Asked):
    """How far ahead to look."""

    agent_id: Id | None = None
    days: Annotated[int, Field(ge=0, le=MAX_DAYS_AHEAD)] = 30
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 50
    as_of: Instant | None = None
    known_at: KnownAt = None


class ReportAsked(Asked):
    """In whose words."""

    agent_id: Id | None = None
    lang: Literal["en", "zh"] = "en"
    as_of: Instant | None = None
    known_at: KnownAt = None
