"""`mnemolog usage`: the model's requests and their cost."""

from datetime import datetime
from typing import Annotated

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import instant
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from schemas.vocabulary.words import UsageGrouping

BY = Annotated[UsageGrouping, Option("--by", help="Days are UTC.")]
SINCE = Annotated[datetime | None, Option("--since", parser=instant, metavar="TIME", help="From this time on.")]
UNTIL = Annotated[datetime | None, Option("--until", parser=instant, metavar="TIME", help="Before this time.")]
OF_GROUP = {"user": "user_id", "agent": "agent_id", "day": "day", "model": "model"}
"""The field that names the group of a row."""
commands = Commands()


@commands.add("usage", only_reads=True, again=True)
async def usage(
    client: AsyncClient, output: Output, *, by: BY = "user", since: SINCE = None, until: UNTIL = None
) -> None:
    """Show the calls of the model and their tokens. They are those of all tenants."""
    found = await client.model_usage(by, since=since, until=until)
    field = OF_GROUP[by]
    rows = [(row["tenant"], row[field], row["calls"], row["tokens_in"], row["tokens_out"]) for row in found["items"]]
    if rows:
        rows.append(("all", "", found["calls"], found["tokens_in"], found["tokens_out"]))
    output.table(("tenant", by, "calls", "tokens in", "tokens out"), rows, "no model was asked", of=found)
