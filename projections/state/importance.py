"""Importance, 0 to 1, and the grade, 1 to 4, in which Luna expresses it."""

from __future__ import annotations

from typing import Final

DECIMALS: Final = 4
"""The decimals to which importance, strength and the other shares of a memory are rounded."""


def grade(importance: float) -> float:
    """Return Luna's 1 to 4: clamp(4 x importance, 1, 4)."""
    return min(4.0, max(1.0, 4.0 * importance))
