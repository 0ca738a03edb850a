"""Answers of context, greeting and relationship, for the OpenAPI document."""

from typing import Any, Literal

from mnemolog.http.models.responses import Memory, Page, Result, Shape, TurnResult


class RelevantEpisode(Memory):
    """An episode that means nearly the same as the query; `similarity` is the cosine."""

    similarity: float


class Greeting(Shape):
    """What to greet a user with; empty: the agent's own greeting."""

    greeting: str


class Context(Shape):
    """Luna's MemoryContext, and what it is in a prompt (Luna), a block (Evatar) and a message (PowerMem)."""

    user_profile: dict[str, Any] | None
    """As `GET /v1/users/{user_id}/profile`; null when nothing is known."""
    relevant_episodes: list[RelevantEpisode]
    recent_episodes: list[Memory]
    working_memory: list[dict[str, Any]]
    memories: list[Result]
    total_memories: int
    prompt: str
    block: str
    message: str
    text: str
    """What a model is told, in plain words: about the user, what lies ahead, what matters, what fits the query."""
    turns: list[TurnResult]
    """What was said that is relevant to the query and that no memory of the answer says, best first."""
    evidence: Literal["strong", "weak", "none"] | None = None
    """As of a search; absent where nothing was looked for, as are the next two."""
    line: float | None = None
    relevance_version: str | None = None
    degraded: list[Literal["semantic", "turns"]] | None = None
    """As of a search: what was found for the query was found without; absent otherwise."""


class Feeling(Shape):
    """A memory that carries an emotion."""

    memory_id: str
    agent_id: str | None
    occurred_at: str
    emotion: str | None
    emotion_intensity: float | None
    event_type: str | None
    content: str


class EmotionCount(Shape):
    """How often an emotion was felt, and how intensely on average, where that is known."""

    count: int
    mean_intensity: float | None


class EmotionMonth(Shape):
    """How often each emotion was felt in a month (`YYYY-MM`, UTC)."""

    month: str
    emotions: dict[str, int]


class Emotions(Page[Feeling]):
    """Feelings over time, oldest first; the counts are over all pages."""

    by_emotion: dict[str, EmotionCount]
    by_month: list[EmotionMonth]


class Ahead(Shape):
    """Something that lies ahead; `kind` is plan or yearly, `name` and `years` are of a yearly day.

    `at` is the instant of a plan that was said with an hour.
    """

    date: str
    at: str | None
    kind: str
    name: str | None
    years: int | None
    content: str
    category: str
    agent_id: str | None
    memory_id: str


class Upcoming(Shape):
    """What lies ahead, the nearest first."""

    items: list[Ahead]
    total: int
    as_of: str


class ReportMonth(Shape):
    """A month (`YYYY-MM`, UTC); `intimacy` is the last that a turn carried, where the log still holds one."""

    month: str
    episodes: int
    by_event_type: dict[str, int]
    emotions: dict[str, int]
    intimacy: float | None


class Report(Shape):
    """How a relationship developed: `firsts` are the first episodes of each type, `text` is for a person to read."""

    since: str | None
    until: str | None
    episodes: int
    by_event_type: dict[str, int]
    emotions: dict[str, int]
    intimacy: float | None
    firsts: list[Feeling]
    months: list[ReportMonth]
    text: str
