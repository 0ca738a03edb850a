"""`mnemolog profile`: what is known about a user."""

import typer

from mnemolog.cli.invocation import command
from mnemolog.cli.options import AGENT, AS_OF, USER
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "profile", profile, only_reads=True, again=True)


async def profile(
    client: AsyncClient, output: Output, *, user: USER = "owner", agent: AGENT = None, as_of: AS_OF = None
) -> None:
    """Show what is known about a user."""
    found = await client.profile(user, agent, as_of=as_of)
    if output.as_json:
        output.json(found)
        return
    rows = [line.removeprefix("- ").split(": ", 1) for line in found["text"].splitlines()]
    output.table(("attribute", "value"), rows, f"nothing is known about {user}")
