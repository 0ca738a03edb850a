"""`mnemolog publish`: publishes JSON Lines of input events to the log."""

from collections.abc import Sequence
from typing import Annotated

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.lines.event_lines import EventLine
from mnemolog.cli.lines.publisher import LinePublisher
from mnemolog.cli.lines.reader import missing, read_files, sizes
from mnemolog.cli.lines.sender import Refusals, interruptible, send_all
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument
from mnemolog.client.client import AsyncClient

FILES = Annotated[list[str], Argument(metavar="FILE...", help="JSON Lines of input events; - is stdin.")]
AGAIN = "Publish the same again: what was accepted counts once."
commands = Commands()


@commands.add("publish")
async def publish(client: AsyncClient, output: Output, files: FILES) -> None:
    """Publish input events. A bad line is reported and never stops the good ones; publishing again changes nothing."""
    if said := missing(files):
        raise CommandFailed(f"{said}: nothing was published")
    refusals = Refusals(output)

    async def send(lines: Sequence[EventLine]) -> dict[int, str]:
        await client.publish([line.event for line in lines], derived_ids=not lines[0].is_named)
        return {}  # all or none

    publisher = LinePublisher(send, refusals.take, output.say)
    async with interruptible(output, publisher, refusals, AGAIN):
        await send_all(read_files(files), publisher, output, task="publishing", unit="bytes", total=sizes(files))
    if output.as_json:
        refused = refusals.listed(lambda bad: (files.index(bad.file), bad.line))
        output.json({"accepted": publisher.accepted, "refused": refused})
    else:
        output.text(f"accepted {publisher.accepted}, refused {len(refusals.all)}")
    if refusals.all:
        raise CommandFailed
