"""The command `mnemolog import`: memories of an export or of another system, and chats of other programs.

`command` reads the rows of `sources` and sends them in batches. `evatar`, `luna`, `powermem`, `chromadb` and `mem0`
each read one system's files, row by row, as memories to import; `systems` has the names of all. `rows` is shared by
them; `sqlite_rows` and `json_arrays` read files of any size without loading them as a whole. `chats` reads other
programs' messages, as turns to publish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.hooks import Extension

if TYPE_CHECKING:
    import click


def _commands(program: click.Group) -> None:
    from mnemolog.extensions.migration.command import commands  # noqa: PLC0415 - see Extension

    commands.install(program)


EXTENSION: Final = Extension(commands=_commands)
