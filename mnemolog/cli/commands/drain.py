"""`mnemolog drain`: returns when everything published so far is remembered."""

from typing import Annotated

import typer

from mnemolog.cli.invocation import command
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

TIMEOUT = Annotated[float, typer.Option("--timeout", min=0.1, max=3600.0, help="Seconds to wait.")]


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "drain", drain, again=True)


async def drain(client: AsyncClient, output: Output, *, timeout: TIMEOUT = 60.0) -> None:  # noqa: ASYNC109 - the server's
    """End open sessions and return when everything published so far has been extracted, remembered and projected."""
    output.fields(await client.drain(timeout))
