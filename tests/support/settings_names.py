"""The names of the environment that mnemolog knows, those of settings to come included."""

from mnemolog.settings import NOT_YET, PREFIX, Settings

KNOWN = {f"{PREFIX}{name}" for name in (*NOT_YET, *(field.upper() for field in Settings.model_fields))}


def unknown(names: set[str]) -> set[str]:
    """Return those names of ours that are no setting."""
    return {name for name in names if name.startswith(PREFIX)} - KNOWN


def usable(environment: dict[str, str]) -> dict[str, str]:
    """Return what this version reads already: without the settings to come."""
    later = {f"{PREFIX}{name}" for name in NOT_YET}
    return {name: value for name, value in environment.items() if name not in later}
