"""`mnemolog policy`: what a tenant, or one of its agents, wants the system to remember."""

from typing import Annotated, TextIO

import click

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.options import AGENT, filters
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument
from mnemolog.client.client import AsyncClient

FILE = Annotated[TextIO, Argument(metavar="FILE", help="A JSON object; - is stdin. {} is the default policy.")]

SHOWN_ONLY = ("policy_id", "version", "agent_id", "set_at", "by")
"""The fields in the output of `policy show` that are not part of the policy, so that its output can be set again."""
commands = Commands()


@commands.add("show", only_reads=True, again=True)
async def show(client: AsyncClient, output: Output, *, agent: AGENT = None) -> None:
    """Show the policy in force."""
    output.fields(await client.policy(agent_id=agent))


@commands.add("set")
async def set_(client: AsyncClient, output: Output, file: FILE, *, agent: AGENT = None) -> None:
    """Set the policy as a whole. It is for windows that are extracted from now on."""
    try:
        policy = filters(file.read())
    except click.BadParameter as error:
        raise CommandFailed(f"{file.name}: {error.message}") from None
    output.fields(
        await client.set_policy(
            {name: value for name, value in policy.items() if name not in SHOWN_ONLY}, agent_id=agent
        )
    )
