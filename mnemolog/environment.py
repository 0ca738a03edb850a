"""The environment's variables that are ours: what every command reads before it needs the settings.

`settings` takes a tenth of a second to import, and a command that is told its server needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "MNEMOLOG_"
URL_VARIABLE: Final = "MNEMOLOG_URL"
"""Not a setting of the worker: whom commands talk to."""
KEY_VARIABLE: Final = "MNEMOLOG_API_KEY"
"""Not a setting of the worker: the key that commands send."""
OF_COMMANDS: Final = frozenset({URL_VARIABLE, KEY_VARIABLE})
CA_FILE_VARIABLE: Final = "MNEMOLOG_CA_FILE"
DATA_DIR_VARIABLE: Final = "MNEMOLOG_DATA_DIR"
DEFAULT_DATA_DIR: Final = "./var"


class SettingsError(ValueError):
    """A setting cannot be used; the message names it and says what to do."""


def named_settings(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that are settings of the worker, or claim to be, in order."""
    return sorted(
        name for name, text in environment.items() if name.startswith(PREFIX) and name not in OF_COMMANDS and text != ""
    )
