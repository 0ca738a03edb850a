"""The closed lists of words that memories, requests, settings, the command line and the prompt share."""

from typing import Final, Literal, TypeAlias

Category: TypeAlias = Literal["people", "finance", "schedule", "project", "preference", "interest", "habit", "fact"]
Kind: TypeAlias = Literal["semantic", "episodic"]
"""The kinds of what is extracted."""
DOCUMENT: Final = "document"
"""The kind of a value that an application keeps under a key, its attribute: it is exact, and does not fade."""
AnyKind: TypeAlias = Literal[Kind, "document"]
MemoryType: TypeAlias = Literal["short_term", "long_term"]
RETENTION: Final = "retention"
"""The policy of a tick that removes old observations; every other but WAKE and CLOCK is a policy of decay."""
WAKE: Final = "wake"
"""The policy of a tick that wakes agents."""
CLOCK: Final = "clock"
"""The policy of a tick by which an operator says what time it is: log time goes on from there."""
Scope: TypeAlias = Literal["personal", "global"]
SourceType: TypeAlias = Literal["chat", "photo", "inferred", "manual", "import"]
EntityKind: TypeAlias = Literal["person", "place", "organisation", "thing"]
"""The kinds of what memories are about."""
UsageGrouping: TypeAlias = Literal["user", "agent", "day", "model"]
"""What the cost of the model is added up by."""
Tier: TypeAlias = Literal["free", "paid"]
Status: TypeAlias = Literal["active", "expired", "forgotten", "superseded"]

SCREENSHOT: Final = "screenshot"
ARTICLE: Final = "article"
SHOWN: Final[dict[str, SourceType]] = {SCREENSHOT: "photo", ARTICLE: "inferred"}
"""What was not said but shown, by the role that it has among turns, and where it is from."""

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
