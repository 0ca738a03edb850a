"""The hooks of extensions: what a folder below `mnemolog/extensions` may add, and the place that finds these folders.

A folder's `__init__` has one value, `EXTENSION`. Nothing outside a folder imports it, so a folder can be taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    import click
    from starlette.routing import BaseRoute

    from mnemolog.changes.feed import ChangeFeed
    from mnemolog.receivers import Receivers
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.instant import Clock
    from schemas.log import Log
    from streams.transports.kafka.log import KafkaLog
    from streams.transports.sqlite.log import SqliteLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborators:
    """What a worker gives to the parts that extensions add to it."""

    log: Log
    inner: SqliteLog | KafkaLog
    """The same log without sealing."""
    shards: Shards
    clock: Clock
    change_feed: ChangeFeed
    receivers: Receivers
    is_in_session: Callable[[], bool]
    """Return whether no other worker can hold this one's partitions."""
    counted: Callable[[str, str], None]
    """Count an outcome of a kind in the metrics."""


class WorkerPart(Protocol):
    """A part that an extension adds to a worker."""

    async def run(self) -> None:
        """Do its work in the background, until cancelled; an error ends the worker."""
        ...

    async def erase(self, owner: Owner, erased_at: datetime) -> None:
        """Remove what it holds of a user and has held before the erasure. Raises LogError."""
        ...


def _no_routes() -> Iterable[BaseRoute]:
    return ()


def _nowhere(_path: str) -> bool:
    return False


def _no_part(_given: Collaborators) -> WorkerPart | None:
    return None


def _no_commands(_program: click.Group) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What an extension adds to the product; every part can be left out.

    What needs imports is a function, which imports when it is called: a command should not wait for routes.
    """

    routes: Callable[[], Iterable[BaseRoute]] = _no_routes
    """Return its HTTP routes; the endpoint of each declares its access (`mnemolog.http.permissions`)."""
    has_plain_errors: Callable[[str], bool] = _nowhere
    """Return whether an error at a path is plain JSON, because the path's clients do not read problems."""
    commands: Callable[[click.Group], None] = _no_commands
    """Add its commands, or a group of them, to the program (`mnemolog.cli.invocation.Commands`)."""
    worker_part: Callable[[Collaborators], WorkerPart | None] = _no_part
    """Build its part of a worker; None if it has none."""


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the extensions that are installed, in the order of their folders' names."""
    folder = Path(__file__).parent / "extensions"
    modules = (import_module(f"mnemolog.extensions.{found.name}") for found in iter_modules([str(folder)]))
    return tuple(module.EXTENSION for module in modules)
