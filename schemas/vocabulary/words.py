"""The closed lists of words that memories, requests, settings, the command line and the prompt share."""

from typing import Final, Literal, TypeAlias

Category: TypeAlias = Literal["people", "finance", "schedule", "project", "preference", "interest", "habit", "fact"]
Kind: TypeAlias = Literal["semantic", "episodic"]
MemoryType: TypeAlias = Literal["short_term", "long_term"]
Policy: TypeAlias = Literal["ladder", "ebbinghaus", "off"]
TickPolicy: TypeAlias = Literal[Policy, "retention", "wake"]
"""What a tick may be of: a policy of decay, the removal of old observations, or waking agents."""
RETENTION: Final = "retention"
WAKE: Final = "wake"
Scope: TypeAlias = Literal["personal", "global"]
SourceType: TypeAlias = Literal["chat", "photo", "inferred", "manual", "import"]
Tier: TypeAlias = Literal["free", "paid"]
Status: TypeAlias = Literal["active", "expired", "forgotten", "superseded"]

EVENT_TYPES: Final = (
    "confession",
    "first_kiss",
    "fight",
    "makeup",
    "gift",
    "milestone",
    "date",
    "anniversary",
    "personal_share",
    "casual",
)
"""Those that have a meaning of their own; an episode may have any other word."""
