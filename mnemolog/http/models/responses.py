"""Answers, for the OpenAPI document; routes write them from what was read, without these models."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from projections.queries.answers import Rule

T = TypeVar("T")


class Shape(BaseModel):
    """An object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class Page(Shape, Generic[T]):
    """A page of a list; `total` counts what is on all pages."""

    items: list[T]
    total: int
    page: int
    page_size: int


class Memory(Shape):
    """One remembered statement, as it is shown at an instant."""

    memory_id: str
    user_id: str
    agent_id: str | None
    shared_with: list[str]
    scope: str
    kind: str
    memory_type: str
    category: str
    content: str
    content_hash: str
    about: str | None
    speaker: str | None
    attribute: str | None
    value: str | None
    becomes: str | None
    """Of a plan: the attribute that it gives its value from its day on."""
    event_type: str | None
    emotion: str | None
    emotion_intensity: float | None
    key_dialogue: list[str]
    confirmed: bool
    importance: float
    grade: float
    initial_strength: float
    strength: float
    access_count: int
    recall_count: int
    source_type: str
    provenance: str
    source_ids: list[str]
    source_ref: str | None
    session_id: str | None
    met_in: list[dict[str, Any]]
    """Where it was told besides: of each place the `session_id` and `metadata` that differ."""
    occurred_at: str
    formed_at: str
    last_accessed_at: str
    expires_at: str | None
    status: str
    superseded_by: str | None
    version: int
    metadata: dict[str, Any]


class DatedMemory(Memory):
    """A memory, and from when to when what it says is so: where it fills a slot or is superseded, else null."""

    valid_from: str | None
    valid_to: str | None


class SimilarMemory(Shape):
    """An active memory that says nearly the same as another one."""

    memory_id: str
    content: str


class RememberedMemory(DatedMemory):
    """A memory that was remembered as it is, and up to three that stand beside it, the nearest first."""

    similar: list[SimilarMemory]


class Memories(Page[DatedMemory]):
    """One page of memories."""


class Scores(Shape):
    """The parts of a score, each 0 to 1."""

    semantic: float
    keyword: float
    importance: float
    recency: float


class TurnScores(Shape):
    """How well the words of a turn match, 0 to 1; and its meaning, where it is in another language than the query."""

    semantic: float
    keyword: float


class Why(Shape):
    """The parts of a result's order, 0 to 1 unless said; null where a part has no share."""

    semantic: float | None
    """The leg of the meaning, relative to the nearest."""
    keyword: float
    """The leg of the words, relative to the best match; of a memory with its source turns."""
    cosine: float | None
    """How near the meaning is, -1 to 1."""
    hub: float | None
    """How much nearer than others a memory is to the centre of the results, which is subtracted."""
    turn: float | None
    """The match of the turns that a memory came from."""
    translated: float | None
    """How near the turns in another language are."""
    slot: float | None
    """How well a memory fills the slot that the query asks for."""
    time: bool | None
    """Whether it belongs to the time that the query names."""
    form: bool | None
    """Whether it has the form that the query asks for, such as an address."""
    literal: bool | None
    """Whether it contains what the query names letter by letter."""
    hop: float | None
    """The cosine in the second search (`hops`)."""
    lasting: float | None
    """The probability that a turn is of lasting value."""
    importance: float | None
    recency: float


class Cut(Shape):
    """How many memories or turns one rule of a search left out."""

    kind: Literal["memory", "turn"]
    rule: Rule
    count: int


class TurnResult(Shape):
    """A turn that a search found; `memory` is what was said, after the name of who said it."""

    kind: Literal["turn"]
    turn_id: str
    memory: str
    score: float
    scores: TurnScores
    relevance: float
    """As of a memory."""
    below_line: bool | None = None
    """As of a memory; absent in a context."""
    why: Why | None = None
    """The parts of its order, if they were asked for."""
    user_id: str
    agent_id: str | None
    session_id: str
    role: str
    name: str | None
    content: str
    provenance: str
    source_ids: list[str]
    superseded_by: str | None = None
    """The memory that holds in the place of all that came from it; absent where something of it holds."""
    occurred_at: str
    recorded_at: str


class Result(DatedMemory):
    """A memory that a search found; `memory` is its content."""

    memory: str
    score: float
    """Its place among what this search found of one user: the best is near 1, however far it is."""
    scores: Scores
    cosine: float | None
    """How near its meaning is to the query's, -1 to 1, comparable between users of one encoder; null if unknown."""
    relevance: float
    """The share of results with this number that are about the query, 0 to 1: it means the same for every user."""
    below_line: bool | None = None
    """Whether contexts and tools leave it out; absent in a context, which has none such."""
    why: Why | None = None
    """The parts of its order, if they were asked for."""
    when: Literal["upcoming", "past"] | None = None
    """Whether a plan lies ahead of the question's time, by the user's days; absent where it is no plan."""


class Results(Shape):
    """What a search found, best first."""

    results: list[Result | TurnResult]
    evidence: Literal["strong", "weak", "none"]
    """Whether anything that was found is likely to be about the query."""
    line: float
    """The relevance below which contexts and tools leave a result of this answer out."""
    relevance_version: str
    """Of the model that tells the relevance: numbers of different versions are not compared."""
    note: str | None = None
    """What a tool tells the model where nothing is relevant; absent otherwise."""
    degraded: list[Literal["semantic", "turns"]] | None = None
    """Parts of the scores that could not be had: the embedder could not be reached (`semantic`), or the vectors of some
    turns are still being made (`turns`); absent otherwise."""
    cut: list[Cut] | None = None
    """What the search left out, each thing under the rule that came first; only if it was asked for."""


class AcceptedEvent(Shape):
    """An event that the log holds; how far it has come is told when that was waited for."""

    event_id: str
    position: str
    known: bool | None = None
    """Of a conversation: whether it was accepted before, and changes nothing."""
    state: str | None = None
    reason: str | None = None
    memory_ids: list[str] | None = None
    known_ids: list[str] | None = None
    decisions: list[str] | None = None
    provisional: bool | None = None
    reextractable: bool | None = None
    redacted: dict[str, int] | None = None


class Accepted(Shape):
    """The events of a request, in its order."""

    accepted: list[AcceptedEvent]


class ConversationAccepted(Accepted):
    """The turns of a conversation, then its end; the session is derived where none was given."""

    session_id: str


class EventState(Shape):
    """How far an event has come."""

    event_id: str
    state: str
    reason: str | None
    memory_ids: list[str]
    known_ids: list[str]
    """The memories that were known before, and say what it says."""
    decisions: list[str]
    provisional: bool
    """The rules answered in the place of a model whose budget was spent, or who refused."""
    reextractable: bool
    """It was rejected, or answered provisionally, and can be extracted again."""
    redacted: dict[str, int]
    position: str | None


class EventStates(Shape):
    """How far events have come."""

    items: list[EventState]
    unknown: list[str]


class MemoryEvent(Shape):
    """One event about a memory."""

    type: str
    event_id: str
    occurred_at: str
    recorded_at: str
    position: str
    causation_id: str | None
    by: str | None
    """The id of the key that it was asked for or said with; null without keys, and for what a tick does."""
    before: dict[str, Any] | None
    after: dict[str, Any]
    reason: str
    tick: str | None


class Lineage(Shape):
    """Where a memory came from."""

    candidates: list[dict[str, Any]]
    observations: list[dict[str, Any]]


class History(Shape):
    """Every event about a memory, oldest first."""

    memory_id: str
    events: list[MemoryEvent]
    lineage: Lineage


class Point(Shape):
    """Importance and strength at an instant."""

    at: str
    importance: float
    strength: float
    status: str


class Curve(Shape):
    """Importance over time."""

    memory_id: str
    points: list[Point]


class Turn(Shape):
    """A turn as it was published."""

    event_id: str
    agent_id: str | None
    session_id: str
    role: str
    name: str | None
    content: str
    infer: bool
    context: dict[str, Any] | None
    metadata: dict[str, Any]
    occurred_at: str
    recorded_at: str


class Turns(Shape):
    """A session's most recent turns, oldest first."""

    items: list[Turn]


class Stats(Shape):
    """Counts of active memories."""

    total: int
    by_type: dict[str, int]
    by_category: dict[str, int]


class UsageRow(Shape):
    """What one user, agent, day or model cost: answers, and tokens."""

    tenant: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    day: str | None = None
    model: str | None = None
    calls: int
    tokens_in: int
    tokens_out: int


class ModelUsage(Shape):
    """What the model was asked and what it cost, and the sums of all rows."""

    items: list[UsageRow]
    calls: int
    tokens_in: int
    tokens_out: int


class PartitionLag(Shape):
    """The items of a topic's partition that are not done, the age of the oldest, and the worker that has it."""

    topic: str
    partition: int
    step: Literal["extract", "remember", "project"]
    items: int
    seconds: float
    worker: str


class Lags(Shape):
    """How far behind each partition is."""

    items: list[PartitionLag]


class Digest(Shape):
    """SHA-256, hexadecimal, of each projection and over all."""

    memories: str
    importance: str
    profiles: str
    episodes: str
    index: str
    total: str


class Drained(Shape):
    """How many observations ended how, and how many memories are active."""

    observations: int
    remembered: int
    nothing: int
    rejected: int
    dead: int
    memories: int


class EntityRow(Shape):
    """Something that a user's memories name."""

    entity_id: str
    name: str
    kind: Literal["person", "place", "organisation", "thing"]
    aliases: list[str]
    memories: int
    first_at: str
    last_at: str


class Entities(Page[EntityRow]):
    """A page of entities, those with the most memories first."""


class RelatedEntity(EntityRow):
    """An entity that stands in the same memories, and in how many."""

    together: int


class EntityPage(EntityRow):
    """An entity with its facts, oldest first."""

    facts: list[DatedMemory]
    related: list[RelatedEntity]


class RedactionPattern(Shape):
    """What else must not be kept: an expression, the mark that takes its place, and what is done."""

    name: str
    pattern: str
    action: str


class PolicyInForce(Shape):
    """What is wanted remembered, and how; `version` counts the policies of the tenant or agent, from 1."""

    policy_id: str | None
    version: int
    agent_id: str | None
    set_at: str | None
    by: str | None
    instructions: str
    categories: dict[str, str]
    attributes: dict[str, str | dict[str, Any]]
    never: list[str]
    never_categories: list[str]
    never_attributes: list[str]
    tokens_per_user_day: int | None
    tokens_per_tenant_day: int | None
    when_refused: str
    redaction: dict[str, str]
    redaction_patterns: list[RedactionPattern]


class Reextracted(Shape):
    """How many windows were extracted again, what came of them, and how many are left."""

    windows: int
    extracted: int
    rejected: int
    memories: int
    gone: int
    left: int
    before: str


class Waiting(Shape):
    """A command that is in the log and not decided yet."""

    command_id: str
    state: str


class Tick(Shape):
    """What a tick changed."""

    tick_id: str
    policy: str
    as_of: str
    changed: int
    decayed: int
    expired: int
    applied: bool
    """False when not every partition was done in time."""
    repeated: bool
    """True when it was applied before: the counts are those of then, and nothing was done again."""


class Rebuilt(Shape):
    """What a rebuild built."""

    generation: int
    decisions: int
    seconds: float
    digest_before: str
    digest_after: str
    equal: bool


class Generations(Shape):
    """The generations there are."""

    active: int
    generations: list[int]


class Reembedded(Shape):
    """What a reembedding made, or in a forecast, would take."""

    encoder: str
    memories: int
    seconds: float
    model: str | None = None
    bytes: int | None = None
    characters: int | None = None
    tokens: int | None = None


class Reembedding(Shape):
    """A reembedding that is running."""

    encoder: str
    done: int
    total: int
    remaining_seconds: float | None


class WorkerClock(Shape):
    """How a worker's clock is."""

    worker: str
    now: str
    """What the worker goes by."""
    machine: str
    """What its machine's clock says."""
    doubt: str | None
    """Why that is not believed: `jumped`, `gap` or `differs`."""
    log_ahead_seconds: float
    """How far the log's newest time lies ahead."""
    conditions: list[str]
    """What is wrong, in sentences."""


class Clocks(Shape):
    """How the clocks of all workers are."""

    ok: bool
    workers: list[WorkerClock]


class ClockConfirmed(Shape):
    """The clocks are believed; `applied` is false where not every partition took it in in time."""

    as_of: str
    applied: bool
    workers: int


class KeysRotated(Shape):
    """A newer master key wraps all data keys now; those retired are needed no more."""

    kek_id: str
    wrapped: int
    """Data keys that another one had wrapped."""
    retired: list[str]


class ServingEncoder(Shape):
    """The encoder that serves, and how far a running reembedding is."""

    active: str
    model: str
    configured: str
    is_encoding: bool
    running: Reembedding | None


class EncoderRecall(Shape):
    """What an encoder finds of what is expected, 0 to 1, and how long a question takes."""

    encoder: str
    recall_at_5: float
    recall_at_10: float
    milliseconds: float


class EncoderComparison(Shape):
    """Two encoders on the same questions; `differing` has the places of those whose recall at 5 is not the same."""

    questions: int
    active: EncoderRecall
    other: EncoderRecall
    differing: list[int]


class DeadLetter(Shape):
    """A record that was put aside, with the beginning of its bytes."""

    id: str
    position: str
    reason: str
    detail: str
    recorded_at: str
    key: str | None
    bytes: int
    value: str
    encoding: str


class DeadLetters(Shape):
    """Records that were put aside."""

    items: list[DeadLetter]
    total: int


class Retried(Shape):
    """The dead letters that were sent back."""

    retried: list[str]


class Health(Shape):
    """How the process is."""

    status: str
    conditions: list[str] = []
    """What is wrong although requests are answered, in sentences."""
