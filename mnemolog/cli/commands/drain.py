"""`mnemolog drain` and `reextract`: extract and remember everything that was published."""

from collections import Counter
from datetime import datetime
from typing import Annotated

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.options import instant
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient

TIMEOUT = Annotated[float, Option("--timeout", min=0.1, max=3600.0, help="Seconds to wait.")]
REJECTED = Annotated[
    bool,
    Option(
        "--rejected",
        help="Events without a usable answer, and those that the rules extracted because a budget was spent.",
    ),
]
USER = Annotated[str | None, Option("--user", help="Only this user's.")]
SINCE = Annotated[
    datetime | None, Option(parser=instant, metavar="TIME", help="Only those rejected at this time or later.")
]
UNTIL = Annotated[datetime | None, Option(parser=instant, metavar="TIME", help="Only those rejected before this time.")]
commands = Commands()


@commands.add("drain", again=True)
async def drain(client: AsyncClient, output: Output, *, timeout: TIMEOUT = 60.0) -> None:  # noqa: ASYNC109 - the server's
    """End open sessions, and wait until everything is remembered.

    Returns when everything published so far has been extracted, remembered and projected.
    """
    output.fields(await client.drain(timeout))


@commands.add("reextract", again=True)
async def reextract(
    client: AsyncClient,
    output: Output,
    *,
    rejected: REJECTED = False,
    user: USER = None,
    since: SINCE = None,
    until: UNTIL = None,
) -> None:
    """Extract windows again whose extraction was rejected. It can be stopped, and run again."""
    if not rejected:
        raise CommandFailed("say which windows: --rejected takes those that gave no answer that could be used")
    sums: Counter[str] = Counter()
    before: str | None = None
    with output.progress("windows") as bar:
        extracting = bar.add_task("extracting", total=None)
        while True:
            found = await client.reextract(user_id=user, since=since, until=until, before=before)
            before, left = found["before"], found["left"]
            sums.update({name: found[name] for name in ("windows", "extracted", "rejected", "memories")})
            bar.update(extracting, completed=sums["windows"], total=sums["windows"] + left)
            if not left:
                break
    names = ("windows", "extracted", "rejected", "memories")
    output.fields({**{name: sums[name] for name in names}, "gone": found["gone"]})
    if found["gone"]:
        output.say(
            f"of {found['gone']} windows the observations are past their retention or were erased: their words are gone"
        )
