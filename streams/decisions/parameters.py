"""The operator's settings for decisions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The settings for decisions, with the defaults of the systems that mnemolog replaces (Evatar, Luna)."""

    keyword_overlap: float = 0.6
    """The least overlap of keywords of near duplicates and mergeable episodes, 0 to 1."""
    episode_merge_hours: float = 24.0
    profile_keeps: bool = False
    """PROFILE_CONFLICT=keep: a single-valued attribute that has a value is never overwritten (Luna)."""
    min_episode_grade: float = 2.0
    """The least grade, 1 to 4, of an episode that is remembered (Luna's MIN_IMPORTANCE_THRESHOLD)."""
    max_episodes: int = 1000
    episode_min_strength: float = 0.3
    keep_important: bool = True
    """Episodes with 4 x importance >= 3 do not expire from weakness."""
    wake_memory_limit: int = 0
    """The most memories that a reminder shows."""
