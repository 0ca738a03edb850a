"""`mnemolog publish`: JSON Lines of input events go to the log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from mnemolog.cli.event_lines import BadLine
from mnemolog.cli.file_reading import missing, read_files, sizes
from mnemolog.cli.invoking import CommandFailed, command
from mnemolog.cli.output import Output
from mnemolog.cli.publishing_lines import LinePublisher
from mnemolog.client import AsyncClient

FILES = Annotated[list[str], typer.Argument(metavar="FILE...", help="JSON Lines of input events; - is stdin.")]
SHOWN_REFUSALS = 100


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "publish", publish)


async def publish(client: AsyncClient, output: Output, files: FILES) -> None:
    """Publish input events. A bad line is reported and never stops the good ones; publishing again changes nothing."""
    if absent := missing(files):
        raise CommandFailed(f"there is no file {absent[0]}: nothing was published")
    refused: list[BadLine] = []

    def refuse(bad: BadLine) -> None:
        refused.append(bad)
        if len(refused) <= SHOWN_REFUSALS:
            output.say(f"{bad.file}:{bad.line}: {bad.error}")
        elif len(refused) == SHOWN_REFUSALS + 1:
            output.say("…and more; --json lists all")

    publisher = LinePublisher(client, refuse, output.say)
    async with _interruptible(output, publisher, refused):
        try:
            await _publish_all(files, publisher, output)
        except OSError as error:
            raise CommandFailed(f"cannot read: {error}") from error
    if output.as_json:
        bad_lines = [
            {"file": bad.file, "line": bad.line, "error": bad.error}
            for bad in sorted(refused, key=lambda bad: (files.index(bad.file), bad.line))
        ]
        output.json({"accepted": publisher.accepted, "refused": bad_lines})
    else:
        output.text(f"accepted {publisher.accepted}, refused {len(refused)}")
    if refused:
        raise CommandFailed


async def _publish_all(files: list[str], publisher: LinePublisher, output: Output) -> None:
    with output.progress("bytes") as bar:
        reading = bar.add_task("publishing", total=sizes(files))
        async for lines, length in read_files(files):
            for line in lines:
                await publisher.take(line)
            if not lines:
                await publisher.flush()
            bar.advance(reading, length)
        await publisher.flush()


@asynccontextmanager
async def _interruptible(output: Output, publisher: LinePublisher, refused: list[BadLine]) -> AsyncIterator[None]:
    """Say how far it came, however it ends before the end."""
    try:
        yield
    except BaseException:
        far = f"everything up to {publisher.reached} is settled" if publisher.reached else "nothing was sent"
        output.say(
            f"stopped: accepted {publisher.accepted}, refused {len(refused)}; {far}. "
            "Publish the same again: what was accepted counts once."
        )
        raise
