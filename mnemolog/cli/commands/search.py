"""`mnemolog search`: a search of a user's memories."""

from typing import Annotated, Any

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import ABOUT, AGENT, APP, AS_OF, FILTER, ONE_ATTRIBUTE, SPEAKER, USER
from mnemolog.cli.output import DEGRADED, Output
from mnemolog.cli.parameters import Argument, Option
from mnemolog.client.client import AsyncClient

QUERY = Annotated[str, Argument(help="What to search for.")]
LIMIT = Annotated[int, Option("--limit", "-n", min=1, max=100)]
TURNS = Annotated[bool, Option("--turns/--no-turns", help="Whether to search what was said as well.")]
MIN_RELEVANCE = Annotated[
    float, Option("--min-relevance", min=0, max=1, help="Leave out results below this relevance, from 0 to 1.")
]
HOPS = Annotated[int, Option("--hops", min=1, max=2, help="With 2, also search for what the best results are about.")]
RECALL = Annotated[bool, Option("--recall", help="Count the results as recalled, as an agent's search does.")]
commands = Commands()


@commands.add("search", only_reads=True, again=True)
async def search(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    query: QUERY,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    app: APP = None,
    about: ABOUT = None,
    speaker: SPEAKER = None,
    attribute: ONE_ATTRIBUTE = None,
    limit: LIMIT = 5,
    filters: FILTER = None,
    as_of: AS_OF = None,
    turns: TURNS = True,
    min_relevance: MIN_RELEVANCE = 0.0,
    hops: HOPS = 1,
    recall: RECALL = False,
) -> None:
    """Find memories and what was said. Looking does not change them, unless --recall says so."""
    include = None if turns else ["memories"]
    found = await client.search(
        user,
        agent,
        query,
        about=about,
        speaker=speaker,
        attribute=attribute,
        limit=limit,
        filters=filters,
        as_of=as_of,
        recall=recall,
        include=include,
        app_id=app,
        hops=None if hops == 1 else hops,
        min_relevance=min_relevance or None,
    )
    if output.as_json:
        output.json(found)
        return
    for part in found.get("degraded", ()):
        output.say(DEGRADED[part])
    if found["results"] and found["evidence"] == "none":
        output.say("nothing here is likely to be about that")
    output.table(
        ("likely", "memory", "category", "importance", "id"),
        [_row(hit) for hit in found["results"]],
        f"nothing found for user {user} (--user)",
    )


def _row(hit: dict[str, Any]) -> tuple[object, ...]:
    """Return the cells of a memory or a turn; a statement that is no longer true is marked."""
    if hit["kind"] == "turn":
        return f"{hit['relevance']:.0%}", hit["memory"], "said", "", hit["turn_id"]
    until = f" (until {hit['valid_to'][:10]})" if hit.get("valid_to") else ""
    over = until or (f" ({hit['status']})" if hit["status"] != "active" else "")
    return f"{hit['relevance']:.0%}", f"{hit['memory']}{over}", hit["category"], hit["importance"], hit["memory_id"]
