"""The names of the environment variables that mnemolog knows."""

from mnemolog.environment import PREFIX
from mnemolog.settings import Settings

KNOWN = {f"{PREFIX}{field.upper()}" for field in Settings.model_fields}


def unknown(names: set[str]) -> set[str]:
    """Return the names with mnemolog's prefix that are no setting."""
    return {name for name in names if name.startswith(PREFIX)} - KNOWN
