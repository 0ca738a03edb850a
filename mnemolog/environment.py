"""The environment's variables that are ours: what every command reads before it needs the settings.

`settings` takes a tenth of a second to import, and a command that is told its server needs none of them.
"""

from __future__ import annotations

import re
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


_LINK: Final = re.compile(
    rf"{PREFIX}(?:\w{{1,200}}_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w{{1,100}})?|PORT_\d{{1,5}}_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
"""What Kubernetes sets in each pod for a Service whose name begins with `mnemolog`."""
_LINKED: Final = re.compile(r"(?:tcp|udp|sctp)://")


class SettingsError(ValueError):
    """A setting cannot be used; the message names it and says what to do."""


def named_settings(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that are settings of the worker, or claim to be, in order.

    Kubernetes' service links are passed over, such as `MNEMOLOG_PORT=tcp://10.0.0.1:8420`.
    """
    return sorted(
        name
        for name, text in environment.items()
        if name.startswith(PREFIX) and name not in OF_COMMANDS and text != "" and not _is_link(name, text)
    )


def _is_link(name: str, text: str) -> bool:
    """Return whether a variable is one of Kubernetes' service links: they are set unasked, and say nothing here."""
    return _LINK.fullmatch(name) is not None or (name.endswith("PORT") and _LINKED.match(text) is not None)
