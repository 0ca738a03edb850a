"""The program: every command under its name."""

import logging
import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

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
from mnemolog.hooks import extensions
from mnemolog.log.private_files import create_privately

program = typer.Typer(
    name="mnemolog",
    help="Memory for AI agents, kept as a log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
program.command("up")(up.up)
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
    (tick, "Say what time it is."),
    (clock, "Whether the clock is believed."),
    (dead_letters, "What could not be read or handled."),
    (policy, "What a tenant, or one of its agents, wants remembered."),
    (keys, "API keys: who may use a server, and what for."),
):
    noun.commands.install_group(program, noun.__name__.rpartition(".")[2].replace("_", "-"), explanation)
for extension in extensions():
    extension.commands(program)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - how typer calls it
    if wanted:
        typer.echo(f"mnemolog {version('mnemolog')}")
        raise typer.Exit


@program.callback()
def _program(
    *,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory for AI agents, kept as a log."""


def run() -> None:
    """Run the command that the arguments name, and exit: 0 done, 1 failed, 2 wrong usage."""
    create_privately()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without UTF-8 shows other characters as \\u6211
            stream.reconfigure(errors="backslashreplace")
    # A command without logging reports errors itself; Python would also print the messages of Kafka's client.
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    program()
