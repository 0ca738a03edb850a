"""mnemolog: memory for AI agents, kept as a log.

What users import is here, and importing it loads the client and nothing else. The rooms: `settings` is the frozen value
that everything is built from, `worker` the composition root, `http` and `cli` the two doors, `client` the Python one.
Behind the doors are `publishing`, `commands`, `imports`, `wakes` and `operations`; `cluster` reaches the other workers,
`log` opens the log and watches it, `access` says who may do what, `diagnostics` is the doctor.
"""

from mnemolog.client.client import AsyncClient, Client
from mnemolog.client.errors import Conflict, MnemologError, NotFound, Refused, ServerFailed, Unavailable

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
