"""The program: every command under its name."""

import inspect
import logging
import sys
from io import TextIOWrapper
from typing import Final

import click

from mnemolog.cli import clock, erasure, keys, policy, usage, webhooks
from mnemolog.cli.commands import (
    context,
    dead_letters,
    digest,
    doctor,
    drain,
    export,
    history,
    import_memories,
    memories,
    profile,
    publish,
    rebuild,
    search,
    tick,
    topics,
    up,
)
from mnemolog.cli.integrity import backup, verification
from mnemolog.cli.parameters import command
from mnemolog.log.private_files import create_privately


class _Group(click.Group):
    """Commands that the help lists in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """Return their names."""
        return list(self.commands)


_VERSION: Final = click.version_option(
    package_name="mnemolog", message="mnemolog %(version)s", help="Print the version."
)
program = _VERSION(_Group("mnemolog", help="Memory for AI agents, kept as a log.", no_args_is_help=True))
program.add_command(
    command("up", up.up, inspect.signature(up.up, eval_str=True).parameters.values(), inspect.getdoc(up.up) or "")
)
for noun in (
    publish,
    drain,
    search,
    memories,
    history,
    profile,
    digest,
    export,
    import_memories,
    erasure,
    context,
    rebuild,
    backup,
    doctor,
    verification,
    usage,
):
    noun.commands.install(program)
for noun, explanation in (
    (topics, "The topics of the log."),
    (tick, "Say what time it is."),
    (clock, "Whether the clock is believed."),
    (dead_letters, "What could not be read or handled."),
    (policy, "What a tenant, or one of its agents, wants remembered."),
    (webhooks, "Whom changes are posted to."),
    (keys, "API keys: who may use a server, and what for."),
):
    group = _Group(noun.__name__.rpartition(".")[2].replace("_", "-"), help=explanation, no_args_is_help=True)
    noun.commands.install(group)
    program.add_command(group)


def run() -> None:
    """Run the command that the arguments name, and exit: 0 done, 1 failed, 2 wrong usage."""
    create_privately()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without UTF-8 shows other characters as \\u6211
            stream.reconfigure(errors="backslashreplace")
    # A command without logging reports errors itself; Python would also print the messages of Kafka's client.
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    program()
