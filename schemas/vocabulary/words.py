"""The closed lists of words that memories, requests, settings, the command line and the prompt share."""

from typing import Final, Literal, TypeAlias

Category: TypeAlias = Literal["people", "finance", "schedule", "project", "preference", "interest", "habit", "fact"]
Kind: TypeAlias = Literal["semantic", "episodic"]
"""The kinds of extracted memories."""
DOCUMENT: Final = "document"
"""The kind of an exact value that an application keeps under a key, which is its attribute. It does not fade."""
AnyKind: TypeAlias = Literal[Kind, "document"]
MemoryType: TypeAlias = Literal["short_term", "long_term"]
RETENTION: Final = "retention"
"""The policy of a tick that removes old observations; all others except WAKE and CLOCK are policies of decay."""
WAKE: Final = "wake"
"""The policy of a tick that wakes agents."""
CLOCK: Final = "clock"
"""The policy of a tick by which an operator sets the present time: log time continues from there."""
Scope: TypeAlias = Literal["personal", "global"]
SourceType: TypeAlias = Literal["chat", "photo", "inferred", "manual", "import"]
EntityKind: TypeAlias = Literal["person", "place", "organisation", "thing"]
"""The kinds of entities that memories are about."""
UsageGrouping: TypeAlias = Literal["user", "agent", "day", "model"]
"""The criteria by which the costs of the model can be grouped."""
Tier: TypeAlias = Literal["free", "paid"]
Status: TypeAlias = Literal["active", "expired", "forgotten", "superseded"]

SCREENSHOT: Final = "screenshot"
ARTICLE: Final = "article"
SHOWN: Final[dict[str, SourceType]] = {SCREENSHOT: "photo", ARTICLE: "inferred"}
"""The source type of text that was shown, not said, by the role that it has in a list of turns."""

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
"""The event types that have a meaning of their own; an episode may have any other word."""
