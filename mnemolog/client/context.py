"""The routes that an agent uses before it speaks, as calls: context, greeting, and the relationship with the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mnemolog.client.call import Call, Instant, Json, get, given, path_of, question, spelt
from mnemolog.client.carrier import method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemas.vocabulary.words import Tier


def context(
    user_id: str,
    query: str = "",
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    tier: Tier = "paid",
    intimacy: float | None = None,
    working_memory: Sequence[Mapping[str, Any]] | None = None,
    filters: Mapping[str, Any] | None = None,
    **limits: Any,  # noqa: ANN401 - any scalar
) -> Call[Json]:
    """Return what an agent should know before its next answer: Luna's MemoryContext, `prompt`, `block` and `message`.

    `limits` are the other fields of `POST /v1/context`, such as `top_k`, `memory_limit` and `recall`, `marked=True` for
    lines that say where they are from, and `exclude_sources=["photo", "inferred"]`. Memories that do not meet `filters`
    are left out, of the profile too.
    """
    body = given(
        user_id=user_id,
        query=query,
        agent_id=agent_id,
        session_id=session_id,
        tier=tier,
        intimacy=intimacy,
        working_memory=None if working_memory is None else [dict(turn) for turn in working_memory],
        filters=None if filters is None else spelt(filters),
        **limits,
    )
    # Recalls are counted once for each user and minute, so that a repeat is safe.
    return question("/v1/context", body)


def greeting(user_id: str, agent_id: str | None = None) -> Call[str]:
    """Return a greeting for a user who comes back; empty when nothing is known or the model does not answer."""
    body = given(user_id=user_id, agent_id=agent_id)
    return Call(
        method="POST", path="/v1/greeting", body=body, is_repeatable=True, read=lambda answer: str(answer["greeting"])
    )


def emotions(
    user_id: str,
    agent_id: str | None = None,
    *,
    page: int = 1,
    page_size: int = 50,
    since: Instant | None = None,
    until: Instant | None = None,
    as_of: Instant | None = None,
) -> Call[Json]:
    """Return feelings over time, oldest first: `{items, total, page, page_size, by_emotion, by_month}`."""
    path, query = path_of("v1", "users", user_id, "emotions"), {"since": since, "until": until, "as_of": as_of}
    return get(path, agent_id=agent_id, page=page, page_size=page_size, **query)


def upcoming(
    user_id: str, agent_id: str | None = None, *, days: int = 30, limit: int = 50, as_of: Instant | None = None
) -> Call[Json]:
    """Return dated plans and days that come back every year, the nearest first: `{items, total, as_of}`."""
    return get(path_of("v1", "users", user_id, "upcoming"), agent_id=agent_id, days=days, limit=limit, as_of=as_of)


def report(
    user_id: str, agent_id: str | None = None, *, lang: Literal["en", "zh"] = "en", as_of: Instant | None = None
) -> Call[Json]:
    """Return how the relationship developed, month by month; `zh` names event types in Luna's words."""
    return get(path_of("v1", "users", user_id, "report"), agent_id=agent_id, lang=lang, as_of=as_of)


class ContextMethods:
    """The methods of these calls, of both clients."""

    context = method(context)
    greeting = method(greeting)
    emotions = method(emotions)
    upcoming = method(upcoming)
    report = method(report)
