"""`mnemolog tick`: emits a tick of the clock, and waits until its effects are applied."""

from datetime import datetime
from typing import Annotated, Any

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.options import TIMEOUT, instant
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from schemas.vocabulary.words import RETENTION, WAKE
from streams.decisions.decay_policies.registry import PolicyName

AS_OF = Annotated[datetime, Option("--as-of", parser=instant, metavar="TIME", help="The time to act as of.")]
POLICY = Annotated[PolicyName | None, Option("--policy", help="[default: DECAY_POLICY]")]
FORCE = Annotated[bool, Option("--force", help="The time may lie in the future.")]
commands = Commands()


@commands.add("decay", again=True)
async def decay(
    client: AsyncClient,
    output: Output,
    *,
    as_of: AS_OF,
    policy: POLICY = None,
    force: FORCE = False,
    timeout: TIMEOUT = 60.0,  # noqa: ASYNC109 - the server's
) -> None:
    """Let memories fade as of a time, and print what changed."""
    _print(output, await client.tick(as_of, policy=policy, force=force, timeout_seconds=timeout), timeout)


@commands.add("retention", again=True)
async def retention(
    client: AsyncClient,
    output: Output,
    *,
    as_of: AS_OF,
    force: FORCE = False,
    timeout: TIMEOUT = 60.0,  # noqa: ASYNC109 - the server's
) -> None:
    """Remove observations that are too old as of a time. Prints how many were older than RETENTION_DAYS."""
    _print(output, await client.tick(as_of, policy=RETENTION, force=force, timeout_seconds=timeout), timeout)


@commands.add("wake", again=True)
async def wake(
    client: AsyncClient,
    output: Output,
    *,
    as_of: AS_OF,
    force: FORCE = False,
    timeout: TIMEOUT = 60.0,  # noqa: ASYNC109 - the server's
) -> None:
    """Raise the wakes and reminders that are due at a time. Prints how many there were."""
    _print(output, await client.tick(as_of, policy=WAKE, force=force, timeout_seconds=timeout), timeout)


def _print(output: Output, done: dict[str, Any], timeout: float) -> None:
    output.fields(done)
    if done["repeated"]:
        output.say(
            "this tick was applied before, and nothing was done again: the counts are those of then. For what has "
            f"come since, give another time than {done['as_of']}"
        )
    if not done["applied"]:
        raise CommandFailed(
            f"the tick is in the log and not applied everywhere after {timeout:g} s: give the same command again to "
            "wait for it, which changes nothing twice; the worker's log says what keeps it"
        )
