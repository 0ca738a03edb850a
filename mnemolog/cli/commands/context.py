"""`mnemolog context`: what an agent should know about a user before its next answer."""

from typing import Annotated

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import AGENT, APP, FILTER, USER
from mnemolog.cli.output import DEGRADED, Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from schemas.vocabulary.words import Tier

QUERY = Annotated[str, Option("--query", "-q", help="The user's present message; without it nothing is searched.")]
SESSION = Annotated[str | None, Option("--session", "-s", help="The conversation; its last turns are shown.")]
INTIMACY = Annotated[
    float | None,
    Option("--intimacy", min=0, max=100, help="How close the user and the agent are. [default: as in the last turn]"),
]
RECALL = Annotated[bool, Option("--recall", help="Count the results as recalled, as an agent's context does.")]
commands = Commands()


@commands.add("context", only_reads=True, again=True)
async def context(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    app: APP = None,
    query: QUERY = "",
    session: SESSION = None,
    tier: Annotated[Tier, Option("--tier")] = "paid",
    intimacy: INTIMACY = None,
    filters: FILTER = None,
    recall: RECALL = False,
) -> None:
    """Show the text that an agent is given before it answers. Looking does not change memories."""
    found = await client.context(
        user,
        query,
        agent_id=agent,
        session_id=session,
        app_id=app,
        tier=tier,
        intimacy=intimacy,
        filters=filters,
        recall=recall,
    )
    if output.as_json:
        output.json(found)
        return
    for part in found.get("degraded", ()):
        output.say(DEGRADED[part])
    said = "\n".join(f"{turn['role']}: {turn['content']}" for turn in found["working_memory"])
    if parts := [part for part in (found["text"], said) if part]:
        output.text("\n\n".join(parts))
    else:
        output.say(f"nothing is known about {user} (--user)")
