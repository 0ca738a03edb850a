"""mnemolog: memory for AI agents, kept as a log. What users import; importing it loads the client and nothing else."""

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
