"""`mnemolog dead-letters`: records that could not be read or handled, and their retry."""

from typing import Annotated

from mnemolog.cli.invocation import Commands
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument
from mnemolog.client.client import AsyncClient

IDS = Annotated[list[str] | None, Argument(metavar="[ID]...", help="The ids of those to handle; without any, all.")]
commands = Commands()


@commands.add("list", only_reads=True, again=True)
async def listed(client: AsyncClient, output: Output) -> None:
    """List what could not be read or handled, and why."""
    found = await client.dead_letters()
    if output.as_json:
        output.json(found)
        return
    output.table(
        ("id", "position", "reason", "detail", "content"),
        [(i["id"], i["position"], i["reason"], i["detail"], i["value"]) for i in found["items"]],
        "there are no dead letters",
    )
    if found["total"] > len(found["items"]):
        output.say(f"{len(found['items'])} of {found['total']}")


@commands.add("retry")
async def retry(client: AsyncClient, output: Output, ids: IDS = None) -> None:
    """Send dead letters back where they came from."""
    found = await client.retry_dead_letters(ids or None)
    output.text(f"sent back: {len(found['retried'])}", of=found)
