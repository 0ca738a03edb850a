"""Luna's decay: episodes lose strength with time; the weak ones expire, and the weakest of too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streams.decisions.decay_policies.policy import DecayPolicy, Expire, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from projections.state.memory import Memory
    from streams.decisions.parameters import Parameters

IMPORTANT_GRADE: Final = 3.0
"""Episodes whose 4 x importance reaches it are protected from weakness."""


def _fade(memory: Memory, as_of: datetime, parameters: Parameters) -> float | Expire | None:
    if memory.kind != "episodic":
        return None
    strength = memory.strength_at(as_of)
    is_protected = parameters.keep_important and 4 * memory.importance >= IMPORTANT_GRADE
    return Expire("weak") if strength < parameters.episode_min_strength and not is_protected else strength


def _surplus(memories: Sequence[Memory], as_of: datetime, parameters: Parameters) -> Sequence[Memory]:
    """Return the weakest episodes beyond the user's maximum, the weakest first."""
    episodes = [memory for memory in memories if memory.kind == "episodic"]
    excess = len(episodes) - parameters.max_episodes
    if excess <= 0:
        return []
    return sorted(episodes, key=lambda m: (m.strength_at(as_of), m.formed_at, m.memory_id))[:excess]


EBBINGHAUS: Final = DecayPolicy(
    name="ebbinghaus", default_hours=168.0, rule=Rule(measure="strength", fade=_fade, surplus=_surplus)
)
