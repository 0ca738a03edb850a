"""The shapes of what an agent is told: for the OpenAPI document."""

from typing import Any

from mnemolog.http.shapes import Memory, Result, Shape


class RelevantEpisode(Memory):
    """An episode that means nearly the same as the query; `similarity` is the cosine."""

    similarity: float


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
