"""Which paths are mem0's: a refusal there is JSON as mem0's clients know it."""

from typing import Final

OF_SERVER: Final = ("/memories", "/search", "/reset")
"""The paths of mem0's open-source server; one more is below the first."""


def speaks_mem0(path: str) -> bool:
    """Return whether a path is mem0's: its platform's paths end with a slash, and none of ours does."""
    return path in OF_SERVER or path.startswith(f"{OF_SERVER[0]}/") or (path.endswith("/") and path != "/")
