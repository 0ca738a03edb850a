"""The hooks of extensions: what a folder below `mnemolog/extensions` may add, and the place that finds these folders.

A folder's `__init__` has one value, `EXTENSION`. Nothing outside a folder imports it, so a folder can be taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click
    from starlette.routing import BaseRoute


def _no_routes() -> Iterable[BaseRoute]:
    return ()


def _nowhere(_path: str) -> bool:
    return False


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


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the extensions that are installed, in the order of their folders' names."""
    folder = Path(__file__).parent / "extensions"
    modules = (import_module(f"mnemolog.extensions.{found.name}") for found in iter_modules([str(folder)]))
    return tuple(module.EXTENSION for module in modules)
