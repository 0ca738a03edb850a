"""mnemolog: memory for AI agents, kept as a log.

What users import is here. It is loaded when it is first named, and the client with nothing else. The rooms: `settings`
is the frozen value that everything is built from, `worker` the composition root, `http` and `cli` the two doors,
`client` the Python one. Behind the doors are `publishing`, `commands`, `imports`, `wakes` and `operations`; `cluster`
reaches the other workers, `log` opens the log and watches it, `access` says who may do what, `diagnostics` is the
doctor.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemolog.client.client import AsyncClient, Client
    from mnemolog.client.errors import Conflict, MnemologError, NotFound, Refused, ServerFailed, Unavailable
else:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Return what users import. Raises AttributeError."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        place = "client" if name.endswith("Client") else "errors"
        return getattr(import_module(f"mnemolog.client.{place}"), name)

    def __dir__() -> list[str]:
        """Return every name that there is, loaded or not."""
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
