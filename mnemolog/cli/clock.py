"""`mnemolog clock`: whether the workers trust their clocks, and an operator's confirmation that they are right."""

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.options import TIMEOUT
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

commands = Commands()


@commands.add("show", only_reads=True, again=True)
async def show(client: AsyncClient, output: Output) -> None:
    """Print what time each worker goes by, and what its machine's clock says. Exits with 1 if anything is wrong."""
    found = await client.clock()
    if output.as_json:
        output.json(found)
    else:
        rows = [(one["worker"], one["now"], one["machine"], one["doubt"] or "none") for one in found["workers"]]
        output.table(("worker", "goes by", "clock", "doubt"), rows, "")
        for one in found["workers"]:
            for condition in one["conditions"]:
                output.say(condition)
    if not found["ok"]:
        raise CommandFailed


@commands.add("confirm", again=True)
async def confirm(
    client: AsyncClient,
    output: Output,
    *,
    timeout: TIMEOUT = 60.0,  # noqa: ASYNC109 - the server's
) -> None:
    """Say that the clocks are right: what waited goes on, and so does a log that a wrong clock has dated ahead."""
    done = await client.confirm_clock(timeout_seconds=timeout)
    output.fields(done)
    if not done["applied"]:
        raise CommandFailed(f"the clocks are believed, and not every partition has taken it in after {timeout:g} s")
