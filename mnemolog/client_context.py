"""The routes before an agent speaks, as values: the context of its next answer, a greeting, how the two get on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemolog.client_call import Call, Json, given, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemas.words import Tier


def context(
    user_id: str,
    query: str = "",
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    tier: Tier = "paid",
    intimacy: float | None = None,
    working_memory: Sequence[Mapping[str, Any]] | None = None,
    **limits: Any,  # noqa: ANN401 - any scalar
) -> Call[Json]:
    """Return what to tell an agent before its next answer: Luna's MemoryContext, `prompt`, `block` and `message`.

    `limits` are the other fields of `POST /v1/context`, such as `top_k`, `memory_limit` and `recall`.
    """
    body = given(
        user_id=user_id,
        query=query,
        agent_id=agent_id,
        session_id=session_id,
        tier=tier,
        intimacy=intimacy,
        working_memory=None if working_memory is None else [dict(turn) for turn in working_memory],
        **limits,
    )
    # Recalls are counted once for each user and minute, however often they are reported.
    return Call(method="POST", path="/v1/context", body=body, is_repeatable=True, read=whole)
