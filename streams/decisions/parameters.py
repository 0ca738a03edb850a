"""The numbers that remember decides by, as the operator set them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Defaults are those of the systems that mnemolog replaces (Evatar, Luna); names are those of the settings."""

    keyword_overlap: float = 0.6
    """0 to 1: near duplicates and mergeable episodes share at least so much of their keywords."""
    episode_merge_hours: float = 24.0
    profile_keeps: bool = False
    """PROFILE_CONFLICT=keep: a single-valued attribute that has a value is never overwritten (Luna)."""
    min_episode_grade: float = 2.0
    """1 to 4: episodes below are not remembered (Luna's MIN_IMPORTANCE_THRESHOLD)."""
    max_episodes: int = 1000
    episode_min_strength: float = 0.3
    keep_important: bool = True
    """Episodes with 4 x importance >= 3 do not expire from weakness."""
    wake_memory_limit: int = 0
    """Memories that a reminder shows at most."""
