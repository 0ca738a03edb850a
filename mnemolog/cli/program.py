"""The program: every command under its name."""

import typer

from mnemolog.cli import (
    dead_letters,
    digest,
    doctor,
    drain,
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

program = typer.Typer(
    name="mnemolog",
    help="Memory for AI agents, kept as a log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for noun in (up, publish, drain, search, memories, history, profile, digest, rebuild, doctor):
    noun.install(program)
for noun, explanation in (
    (topics, "The topics of the log."),
    (tick, "Say what time it is."),
    (dead_letters, "What could not be read or handled."),
):
    group = typer.Typer(help=explanation, no_args_is_help=True, rich_markup_mode=None)
    noun.install(group)
    program.add_typer(group, name=noun.__name__.rpartition(".")[2].replace("_", "-"))


def main() -> None:
    """Run the command that the arguments name, and exit: 0 done, 1 failed, 2 wrong usage."""
    program()
