"""The lineage of memories that the rules find. It is apart from the rules, because these take a second to load."""

from __future__ import annotations

import hashlib
from typing import Final

RULES_VERSION: Final = "29"
"""Raise it with every change of what the rules find: it is recorded with each memory's lineage."""


class RulesLineage:
    """The lineage of whatever extracts by the rules."""

    @property
    def model(self) -> str:
        """`rules`."""
        return "rules"

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of the rules' version, in hex."""
        return hashlib.sha256(f"rules:{RULES_VERSION}".encode()).hexdigest()
