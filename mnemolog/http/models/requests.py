"""Request bodies and queries: their fields, bounds and closed lists, as docs/reference/http.md has them."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, Self

import orjson
from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from starlette.convertors import Convertor, register_url_convertor

from mnemolog.http.models.body import Body
from projections.queries.conditions.condition import AllOf
from projections.queries.conditions.parser import condition_of, of_whom
from schemas.identity import check_id, check_user_id
from schemas.inputs.faults import plain
from schemas.inputs.foreign_messages import message_of
from schemas.inputs.input_events import DEFAULT_USER, MAX_CONTENT_BYTES, OR_THE_OWNER
from schemas.inputs.nesting import check_depth
from schemas.instant import read_instant
from schemas.messages.observations import APP_ID, MAX_INSTRUCTIONS_CHARACTERS
from schemas.text import is_blank, refuse_marks
from schemas.vocabulary.words import AnyKind, Category, MemoryType, Scope, SourceType, Status, UsageGrouping
from streams.decisions.decay_policies.registry import TickName

MAX_EVENTS = 1_000
MAX_QUERY_BYTES = 4 * 1024
"""Of UTF-8; what it means is read from the first 2,000 characters anyway."""
MAX_VALUE_CHARACTERS = 200
MAX_PAGE_SIZE = 200
MAX_FOUND = 100
MAX_FORGOTTEN = 1_000
MAX_FILTER_CHARACTERS = 16_384
DEFAULT_LIMIT = 10
MAX_POINTS = 366
MAX_WAIT_SECONDS = 60.0


class _AnyText(Convertor[str]):
    """A part of a path that may hold any percent-encoded text: slashes and line ends too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("text", _AnyText())


def _fits(text: str) -> str:
    if len(text.encode()) > MAX_CONTENT_BYTES:
        raise ValueError(f"has {len(text.encode())} bytes: at most {MAX_CONTENT_BYTES} are allowed")
    return refuse_marks(text)


def _short_question(text: str) -> str:
    if len(text.encode()) > MAX_QUERY_BYTES:
        raise ValueError(f"has {len(text.encode())} bytes: at most {MAX_QUERY_BYTES} are allowed, ask with less of it")
    return text


def not_blank(do: str) -> AfterValidator:
    """Return the check that a text is not blank; `do` says what to do about one that is."""

    def check(text: str) -> str:
        if is_blank(text):
            raise ValueError(f"is blank: {do}")
        return text

    return AfterValidator(check)


def _not_too_deep(value: dict[str, Any]) -> dict[str, Any]:
    check_depth(value)
    return value


def _json(value: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(orjson.dumps(value))
    except (TypeError, ValueError):
        raise ValueError("holds text or numbers that JSON cannot carry") from None
    if size > MAX_CONTENT_BYTES:
        raise ValueError(f"has {size} bytes: at most {MAX_CONTENT_BYTES} are allowed")
    return value


def _not_yet(value: object) -> object:
    if value is not None:
        raise ValueError("is not yet supported by this version: leave it out, or use as_of")
    return value


Instant = Annotated[datetime, BeforeValidator(read_instant, json_schema_input_type=str)]
KnownAt = Annotated[
    None, BeforeValidator(_not_yet), WithJsonSchema({"type": "null", "description": "not yet supported"})
]
UserId = Annotated[str, AfterValidator(check_user_id)]
UserOrOwner = Annotated[str, AfterValidator(partial(check_user_id, instead=OR_THE_OWNER))]
UserOrNone = Annotated[str, AfterValidator(partial(check_user_id, instead=", or leave it out"))]
Id = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(check_id)]
Channel = Annotated[str, Field(min_length=1, max_length=256)]
"""Where an agent reminds: words of the caller's, put on one line where they are shown."""
Text = Annotated[str, AfterValidator(_fits)]
Content = Annotated[Text, not_blank("say what to remember")]
Query = Annotated[Text, AfterValidator(_short_question)]
Question = Annotated[Query, not_blank("say what to look for")]
Value = Annotated[
    str,
    Field(max_length=MAX_VALUE_CHARACTERS),
    AfterValidator(_fits),
    not_blank("say the value; to empty its place in the profile, forget the memory"),
]
Shallow = Annotated[dict[str, Any], AfterValidator(_not_too_deep)]
Metadata = Annotated[Shallow, AfterValidator(_json)]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

ExcludedSources = Annotated[list[SourceType], Field(max_length=5, description="provenances that are left out")]

Limit = Annotated[
    int,
    BeforeValidator(lambda given: DEFAULT_LIMIT if given == "" else given, json_schema_input_type=int),
    Field(ge=1, le=MAX_PAGE_SIZE),
]
PageNumber = Annotated[int, Field(ge=1, le=1_000_000)]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)]
MemoryId = Annotated[str, Path(min_length=1, max_length=256), AfterValidator(check_id)]


class Asked(BaseModel):
    """The query string of a list."""

    model_config = ConfigDict(frozen=True)


_FLAT: Final = ("category", "kind", "memory_type", "source_type", "since", "until", "min_importance")


def _open_to_conditions(schema: dict[str, Any]) -> None:
    schema["additionalProperties"] = True
    for name in _FLAT:
        schema["properties"][name]["anyOf"].append({"type": "object"})


class SearchFilters(Body):
    """Filters of memories: values of fields, or the filter language (AND, OR, NOT and operators, `metadata.KEY`).

    `since` and `until` are effective times. What stands in one object must all hold.
    """

    model_config = ConfigDict(json_schema_extra=_open_to_conditions)

    category: Category | None = None
    kind: AnyKind | None = None
    memory_type: MemoryType | None = None
    source_type: SourceType | None = None
    since: Instant | None = None
    until: Instant | None = None
    min_importance: Unit | None = None
    condition: SkipJsonSchema[Any] = None

    @model_validator(mode="before")
    @classmethod
    def _with_condition(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if not isinstance(value, dict):
            return value
        flat = {name: one for name, one in value.items() if name in _FLAT and not isinstance(one, dict)}
        said = {name: one for name, one in value.items() if name not in flat}
        return flat | {"condition": condition_of(said)} if said else flat

    def within(
        self,
        *,
        session_id: str | None = None,
        app_id: str | None = None,
        about: str | None = None,
        speaker: str | None = None,
    ) -> Self:
        """Return these filters for what is of a session, an application, somebody and a speaker, as these are given."""
        scopes = {name: one for name, one in (("session_id", session_id), (APP_ID, app_id)) if one is not None}
        parts = [*([condition_of(scopes)] if scopes else []), *of_whom(about, speaker)]
        if not parts:
            return self
        if self.condition is not None:
            parts.append(self.condition)
        return self.model_copy(update={"condition": parts[0] if len(parts) == 1 else AllOf(tuple(parts))})


def _filters_of(text: object) -> SearchFilters:
    """Return the filters that a query string has as JSON."""
    if not isinstance(text, str):
        return SearchFilters()
    if len(text) > MAX_FILTER_CHARACTERS:
        raise ValueError(f"has {len(text)} characters: at most {MAX_FILTER_CHARACTERS} are allowed")
    try:
        return SearchFilters.model_validate(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise ValueError(f"is no filter: {f'at {place}: ' * bool(place)}{plain(fault)}") from None


AppId = Annotated[Id, Field(description="the application: `app_id` of the metadata")]
About = Annotated[
    Id, Field(description='whom or what it is about, in any spelling, such as "my mother"; "user" is the user')
]
SpokenBy = Annotated[Id, Field(description='who said it of themselves; "user" is the user')]
FiltersInQuery = Annotated[
    Any,
    BeforeValidator(_filters_of),
    WithJsonSchema({"type": "string", "description": "filters as `POST /v1/memories/query` takes them, as JSON"}),
]
"""SearchFilters in a query string."""
NO_FILTERS: Final = SearchFilters()


class MemoriesAsked(Asked):
    """Which memories to list."""

    user_id: UserId | None = None
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: AppId | None = None
    kind: AnyKind | None = None
    memory_type: MemoryType | None = None
    category: Category | None = None
    source_type: SourceType | None = None
    scope: Scope | None = None
    include_global: Annotated[bool, Field(description="besides the user's own; without a scope")] = False
    status: Status = "active"
    about: About | None = None
    speaker: SpokenBy | None = None
    attribute: Id | None = None
    filters: FiltersInQuery = NO_FILTERS
    page: PageNumber = 1
    page_size: PageSize = 50
    limit: Annotated[Limit, Field(description="the first so many, instead of a page; without a number 10")] | None = (
        None
    )
    as_of: Instant | None = None
    known_at: KnownAt = None


class MemoriesUnwanted(Asked):
    """Which memories to forget: those that the list shows for the same fields, at most `limit` of them."""

    user_id: UserId
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: AppId | None = None
    kind: AnyKind | None = None
    memory_type: MemoryType | None = None
    category: Category | None = None
    source_type: SourceType | None = None
    about: About | None = None
    speaker: SpokenBy | None = None
    attribute: Id | None = None
    status: Annotated[Status | None, Field(description="by default active, and with `forever` each")] = None
    filters: FiltersInQuery = NO_FILTERS
    limit: Annotated[int, Field(ge=1, le=MAX_FORGOTTEN)] = MAX_FORGOTTEN
    preview: Annotated[bool, Field(description="say which would go, and change nothing")] = False
    forever: Annotated[bool, Field(description="erase them for good, with what they came from")] = False


class EpisodesAsked(Asked):
    """Which episodes to list."""

    agent_id: Id | None = None
    page: PageNumber = 1
    page_size: PageSize = 50
    as_of: Instant | None = None
    known_at: KnownAt = None


class EntitiesAsked(Asked):
    """Which entities to list."""

    agent_id: Id | None = None
    kind: Literal["person", "place", "organisation", "thing"] | None = None
    page: PageNumber = 1
    page_size: PageSize = 50
    as_of: Instant | None = None
    known_at: KnownAt = None


class UsageAsked(Asked):
    """What the model cost, and when: from `since` to before `until`."""

    by: Annotated[UsageGrouping, Field(description="days are UTC")] = "user"
    since: Instant | None = None
    until: Instant | None = None


class MemoriesQuery(Body):
    """Which memories to list, by the filter language; `status` null is each of them."""

    user_id: UserId | None = None
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: AppId | None = None
    about: About | None = None
    speaker: SpokenBy | None = None
    attribute: Id | None = None
    filters: SearchFilters = SearchFilters()
    scope: Scope | None = None
    include_global: Annotated[bool, Field(description="besides the user's own; without a scope")] = False
    status: Status | None = "active"
    page: PageNumber = 1
    page_size: PageSize = 50
    as_of: Instant | None = None
    known_at: KnownAt = None


Included = Annotated[
    list[Literal["memories", "turns"]],
    Field(min_length=1, max_length=2, description="what is looked for: memories, and turns as they were said"),
]

MinRelevance = Annotated[
    Unit,
    Field(description="what is less relevant is left out; by default what is below the line of the answer"),
]


class Search(Body):
    """A question to the memories of a user."""

    user_id: UserId
    query: Question
    agent_id: Id | None = None
    session_id: Annotated[Id, Field(description="only memories and turns of this session")] | None = None
    app_id: AppId | None = None
    about: About | None = None
    speaker: SpokenBy | None = None
    attribute: Id | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 5
    scope: Literal["all", "personal", "global"] = "all"
    include_global: bool = True
    filters: SearchFilters = SearchFilters()
    min_score: Unit = 0.0
    as_of: Instant | None = None
    known_at: KnownAt = None
    recall: bool = True
    exclude_sources: ExcludedSources = Field(default_factory=list)
    include: Included = ["memories", "turns"]  # noqa: RUF012 - pydantic copies it
    min_relevance: Annotated[Unit, Field(description="what is less relevant is left out")] = 0.0
    hops: Annotated[int, Field(ge=1, le=2, description="2: what the best memories are about is looked for too")] = 1
    understand_time: Annotated[bool, Field(description="what was true at a time that the query names comes first")] = (
        True
    )
    explain: Annotated[bool, Field(description="add the parts of each result's order, and what was cut")] = False


def _messages_of(given: object) -> object:
    """Return messages with a role and a text; those without text, such as calls of tools, are left out."""
    if not isinstance(given, list):
        return given
    read = [message_of(one) if isinstance(one, dict) else one for one in given]
    return [one for one in read if one is not None]


class Message(Body):
    """One message of a conversation; the fields are those of TurnRecorded.

    Its content may be in parts, of which the text counts, and its role a word of other libraries, such as `human`.
    """

    role: str
    content: str
    event_id: str | None = None
    occurred_at: Any = None
    name: Any = None
    context: Any = None
    metadata: Any = None


class Conversation(Body):
    """A conversation, or the whole context again: a message that was accepted before is not accepted twice."""

    user_id: UserId
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: AppId | None = None
    messages: Annotated[
        list[Message],
        Field(max_length=MAX_EVENTS),
        BeforeValidator(_messages_of, json_schema_input_type=list[Message | dict[str, Any]]),
    ]
    end_session: bool = True
    infer: bool = True
    instructions: Annotated[
        str,
        Field(
            max_length=MAX_INSTRUCTIONS_CHARACTERS,
            description="words for the model about these messages, behind the policy; for keys of all users and agents",
        ),
    ] = ""


class EventsAsked(Body):
    """Events whose states are asked for."""

    user_id: UserOrOwner = DEFAULT_USER
    event_ids: Annotated[list[Id], Field(max_length=MAX_EVENTS)]


class TickDue(Body):
    """A tick that says: it is now `as_of`."""

    as_of: Instant
    policy: TickName | None = None
    """`retention`, `wake`, or of decay; default: DECAY_POLICY."""
    force: bool = False
    timeout: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0


class ClockConfirmed(Body):
    """The clocks are right; how long to wait, in seconds, until every partition has taken it in."""

    timeout: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0


class Drain(Body):
    """How long to wait, in seconds."""

    timeout: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0


class Rebuild(Body):
    """What to rebuild."""

    what: Literal["all", "shards", "index"] = "all"
    activate: Annotated[int, Field(ge=1)] | None = None


class Reembed(Body):
    """What to do with an encoder's vectors. It is spelt as EMBEDDING_MODEL is; without one it is the active encoder."""

    encoder: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    what: Literal["forecast", "build", "activate"] = "build"


class Reextract(Body):
    """Which windows to extract again: those whose extraction was rejected, and that were not extracted since.

    A run calls with the same `before` until nothing is `left`: what it rejects again is not of that run.
    """

    what: Literal["rejected"] = "rejected"
    user_id: UserId | None = None
    since: Instant | None = None
    until: Instant | None = None
    before: Instant | None = None


class KnownQuestion(Body):
    """A question of a user, and the ids of what answers it: of memories, or of the events that they are from."""

    user_id: UserId
    query: Question
    expected: Annotated[list[Id], Field(min_length=1, max_length=100)]


class Comparison(Body):
    """Questions by which an encoder is compared with the active one."""

    encoder: Annotated[str, Field(min_length=1, max_length=4_096)]
    questions: Annotated[list[KnownQuestion], Field(min_length=1, max_length=MAX_EVENTS)]


class RebuildPart(Body):
    """The generation that a worker is to build its part of, or to switch to."""

    what: Literal["all", "shards", "index"]
    generation: Annotated[int, Field(ge=1)]
    rebuild_id: Id
    switches: Annotated[int, Field(ge=0)] = 0
    encoder: Annotated[str, Field(max_length=4_096)] = ""


class UnnamedMessage(Body):
    """What names a message of a conversation, as `Utterance` has it."""

    first: str
    own: str
    former: str | None = None
    is_exact: bool = False
    is_given: bool = False


class UnnamedConversation(Body):
    """What names the messages of a conversation, as `Conversation` of publishing has it."""

    utterances: Annotated[list[UnnamedMessage], Field(max_length=MAX_EVENTS)]
    sent_at: Instant
    request_id: str | None = None


class ForwardedEvents(Body):
    """Events of users of the worker that is asked, of one tenant, each in Base64 as it will be in the log."""

    tenant: str
    messages: Annotated[list[str], Field(max_length=MAX_EVENTS + 1)]  # a conversation's end besides
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = 0.0
    only_check: bool = False
    conversation: UnnamedConversation | None = None


class ForwardedSnapshots(Body):
    """Memories to import for users of the worker that is asked, as the caller sent them."""

    tenant: str
    user_id: UserId | None = None
    snapshots: Annotated[list[dict[str, Any]], Field(max_length=MAX_EVENTS)]
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = 0.0


class Retry(Body):
    """Which dead letters to send back; without ids all."""

    ids: Annotated[list[Id], Field(max_length=MAX_EVENTS)] | None = None
