"""The paths of mem0's protocol, where errors are JSON in the shape that mem0's clients expect."""

from typing import Final

OF_SERVER: Final = ("/memories", "/search", "/reset")
"""The paths of mem0's open-source server; single memories are below the first."""
OF_PLATFORM: Final = ("ping", "memories", "event", "entities", "batch", "feedback")
"""The parts that follow the version in the paths of mem0's platform. These end with a slash; none of ours does."""

PROJECT: Final = "/api/v1/orgs/organizations/"
"""The beginning of the paths of the platform's organisations and projects."""
VERSIONS: Final = ("v1", "v2", "v3")
_NAMED: Final = 2
"""Its index among the parts of a path."""


def speaks_mem0(path: str) -> bool:
    """Return whether a path is mem0's."""
    if path in OF_SERVER or path.startswith(f"{OF_SERVER[0]}/"):
        return True
    if path.startswith(PROJECT):
        return True
    parts = path.split("/")
    if not path.endswith("/") or len(parts) <= _NAMED:
        return False
    return parts[_NAMED - 1] in VERSIONS and parts[_NAMED] in OF_PLATFORM
