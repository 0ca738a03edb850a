"""The program: every command under its name."""

import inspect
import logging
import sys
from io import TextIOWrapper
from typing import Final

import click

from mnemolog.cli import clock, erasure, keys, policy, usage
from mnemolog.cli.commands import (
    context,
    dead_letters,
    digest,
    doctor,
    drain,
    export,
    history,
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
from mnemolog.cli.parameters import Group, command
from mnemolog.hooks import extensions
from mnemolog.log.private_files import create_privately

_VERSION: Final = click.version_option(
    package_name="mnemolog", message="mnemolog %(version)s", help="Print the version."
)
program = _VERSION(Group("mnemolog", help="Memory for AI agents, kept as a log.", no_args_is_help=True))
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
    (tick, "Do what is due at a time: decay, retention, wakes."),
    (clock, "Show whether the clock is trusted, or confirm it."),
    (dead_letters, "Records that could not be read or handled."),
    (policy, "What a tenant, or one of its agents, wants remembered."),
    (keys, "API keys: who may use a server, and what for."),
):
    noun.commands.install_group(program, noun.__name__.rpartition(".")[2].replace("_", "-"), explanation)
for extension in extensions():
    extension.commands(program)


def run() -> None:
    """Run the command that the arguments name, and exit: 0 done, 1 failed, 2 wrong usage."""
    create_privately()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without UTF-8 shows other characters as \\u6211
            stream.reconfigure(errors="backslashreplace")
    # A command without logging reports errors itself; Python would also print the messages of Kafka's client.
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    program()
