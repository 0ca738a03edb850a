"""`mnemolog digest`: a digest of each projection, to compare their contents."""

from mnemolog.cli.invocation import Commands
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

commands = Commands()


@commands.add("digest", only_reads=True, again=True)
async def digest(client: AsyncClient, output: Output) -> None:
    """Print a SHA-256 of each projection, and one over all. Equal decisions have equal digests."""
    output.fields(await client.digest())
