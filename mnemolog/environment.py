"""The environment variables of mnemolog: the part that every command reads before it needs the settings.

`settings` takes a tenth of a second to import, and a command with the URL of a server does not need it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "MNEMOLOG_"
URL_VARIABLE: Final = "MNEMOLOG_URL"
"""The URL of the server for commands; not a setting of the worker."""
KEY_VARIABLE: Final = "MNEMOLOG_API_KEY"
"""The key that commands send; not a setting of the worker."""
OF_COMMANDS: Final = frozenset({URL_VARIABLE, KEY_VARIABLE})
CA_FILE_VARIABLE: Final = "MNEMOLOG_CA_FILE"
DATA_DIR_VARIABLE: Final = "MNEMOLOG_DATA_DIR"
DEFAULT_DATA_DIR: Final = "./var"


_LINK: Final = re.compile(
    rf"{PREFIX}(?:\w{{1,200}}_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w{{1,100}})?|PORT_\d{{1,5}}_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
"""The variables that Kubernetes sets in each pod for a Service whose name begins with `mnemolog`."""
_LINKED: Final = re.compile(r"(?:tcp|udp|sctp)://")


class SettingsError(ValueError):
    """A setting cannot be used; the message names it and says what to do."""


def named_settings(environment: Mapping[str, str]) -> list[str]:
    """Return the sorted names of the variables that are settings of the worker, or look like one.

    The service links of Kubernetes are left out, such as `MNEMOLOG_PORT=tcp://10.0.0.1:8420`.
    """
    return sorted(
        name
        for name, text in environment.items()
        if name.startswith(PREFIX) and name not in OF_COMMANDS and text != "" and not _is_link(name, text)
    )


def _is_link(name: str, text: str) -> bool:
    """Return whether a variable is a service link, which Kubernetes sets automatically and mnemolog ignores."""
    return _LINK.fullmatch(name) is not None or (name.endswith("PORT") and _LINKED.match(text) is not None)
