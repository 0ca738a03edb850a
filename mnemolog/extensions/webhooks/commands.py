"""`mnemolog webhooks`: the addresses to which changes are posted."""

from typing import Annotated

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import AGENT, SOME_USER
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument, Option
from mnemolog.client.client import AsyncClient

ADDRESS = Annotated[str, Argument(metavar="ADDRESS", help="The https:// address to post to.")]
WEBHOOK = Annotated[str, Argument(metavar="WEBHOOK", help="The id of a webhook.")]
TYPES = Annotated[list[str] | None, Option("--type", help="Only changes of this type; repeat it for several types.")]
AFTER = Annotated[str, Option(help="Begin after this cursor of the feed; `start` begins with the first change.")]
BOTH_FOR = Annotated[
    float, Option("--both-for", min=0.0, max=720.0, help="The hours for which earlier secrets still sign as well.")
]
START = "start"
HOUR_SECONDS = 3_600
commands = Commands()


@commands.add("add")
async def add(
    client: AsyncClient,
    output: Output,
    address: ADDRESS,
    *,
    user: SOME_USER = None,
    agent: AGENT = None,
    type_: TYPES = None,
    after: AFTER = "now",
) -> None:
    """Post changes to an address. Prints the secret that signs them, which is shown only once."""
    made = await client.add_webhook(
        address, types=type_ or (), user_id=user, agent_id=agent, after=None if after == START else after
    )
    output.text(f"webhook: {made['webhook_id']}\nsecret: {made['secret']}", of=made)


@commands.add("list", only_reads=True, again=True)
async def listed(client: AsyncClient, output: Output) -> None:
    """List the webhooks with their progress."""
    found = await client.webhooks()
    output.table(
        ("webhook", "url", "deliveries", "given up", "failing since", "failure"),
        [
            (i["webhook_id"], i["url"], i["deliveries"], i["given_up"], i["failing_since"] or "", i["failure"] or "")
            for i in found["items"]
        ],
        "there are no webhooks",
        of=found,
    )


@commands.add("secret")
async def secret(client: AsyncClient, output: Output, webhook_id: WEBHOOK, *, both_for: BOTH_FOR = 24.0) -> None:
    """Rotate the secret. Prints the new one, which is shown only once."""
    found = await client.set_webhook_secret(webhook_id, both_for=round(both_for * HOUR_SECONDS))
    output.text(f"secret: {found['secret']}", of=found)


@commands.add("remove")
async def remove(client: AsyncClient, output: Output, webhook_id: WEBHOOK) -> None:
    """Remove a webhook."""
    found = await client.remove_webhook(webhook_id)
    output.text(f"removed: {webhook_id}", of=found)


@commands.add("replay")
async def replay(client: AsyncClient, output: Output, webhook_id: WEBHOOK, after: AFTER) -> None:
    """Post again what happened after a cursor, and continue from there."""
    found = await client.replay_webhook(webhook_id, None if after == START else after)
    output.text(f"goes on behind: {found['reached']}", of=found)
