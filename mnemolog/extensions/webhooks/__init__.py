"""Webhooks: addresses to which changes are posted.

`commands` has the command line's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    import click


def _commands(program: click.Group) -> None:
    from mnemolog.extensions.webhooks.commands import commands  # noqa: PLC0415 - see Extension

    commands.install_group(program, "webhooks", "Whom changes are posted to.")


EXTENSION: Final = Extension(commands=_commands)
