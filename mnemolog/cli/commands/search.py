"""`mnemolog search`: a question to a user's memories."""

from typing import Annotated

import typer

from mnemolog.cli.invocation import command
from mnemolog.cli.options import AGENT, AS_OF, USER
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

QUERY = Annotated[str, typer.Argument(help="What to look for, in any words.")]
LIMIT = Annotated[int, typer.Option("--limit", "-n", min=1, max=100)]
RECALL = Annotated[bool, typer.Option("--recall", help="Count what is found as recalled, as an agent's search does.")]


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "search", search, only_reads=True, again=True)


async def search(
    client: AsyncClient,
    output: Output,
    query: QUERY,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    limit: LIMIT = 5,
    as_of: AS_OF = None,
    recall: RECALL = False,
) -> None:
    """Find memories by words and by meaning. Looking does not change them, unless --recall says so."""
    found = await client.search(user, agent, query, limit=limit, as_of=as_of, recall=recall)
    if output.as_json:
        output.json(found)
        return
    output.table(
        ("score", "memory", "category", "importance", "id"),
        [(m["score"], m["memory"], m["category"], m["importance"], m["memory_id"]) for m in found["results"]],
        f"nothing found for user {user} (--user)",
    )
