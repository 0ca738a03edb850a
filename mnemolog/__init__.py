"""mnemolog: memory for AI agents, kept as a log.

What users import is here; each name is loaded on first use, and the client loads nothing else. The folders: `settings`
is the frozen value that everything is built from, `worker` the composition root, `http` and `cli` the two doors,
`client` the Python client, `integrations` the stores and tools of other frameworks, and `extensions` what joins by
`hooks` and can be taken away. Behind the doors are `publishing`, `commands`, `imports`, `changes`, `wakes` and
`operations`. `cluster` reaches the other workers, `log` opens and watches the log, `access` says who may do what,
`telemetry` makes traces, `diagnostics` is the doctor, `terminal` draws tables and bars.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemolog.client.client import AsyncClient, Client
    from mnemolog.client.errors import Conflict, MnemologError, NotFound, Refused, ServerFailed, Unavailable
else:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Return a name that users import. Raises AttributeError."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        place = "client" if name.endswith("Client") else "errors"
        return getattr(import_module(f"mnemolog.client.{place}"), name)

    def __dir__() -> list[str]:
        """Return every name, loaded or not."""
        return sorted({*globals(), *__all__})


__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "MnemologError",
    "NotFound",
    "Refused",
    "ServerFailed",
    "Unavailable",
]
