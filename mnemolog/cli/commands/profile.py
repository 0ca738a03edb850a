"""`mnemolog profile` and `entities`: the facts about a user, and the people and things that the user names."""

from typing import Annotated, Any

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import AGENT, AS_OF, PAGE, PAGE_SIZE, USER
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from schemas.vocabulary.words import EntityKind

ID = Annotated[str | None, Option("--id", metavar="ENTITY_ID", help="Show this entity with its facts over time.")]
KIND = Annotated[EntityKind | None, Option("--kind")]
commands = Commands()


@commands.add("profile", only_reads=True, again=True)
async def profile(
    client: AsyncClient, output: Output, *, user: USER = "owner", agent: AGENT = None, as_of: AS_OF = None
) -> None:
    """Show what is known about a user."""
    found = await client.profile(user, agent, as_of=as_of)
    rows = [line.removeprefix("- ").split(": ", 1) for line in found["text"].splitlines()]
    output.table(("attribute", "value"), rows, f"nothing is known about {user}", of=found)


@commands.add("entities", only_reads=True, again=True)
async def entities(
    client: AsyncClient,
    output: Output,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    entity_id: ID = None,
    kind: KIND = None,
    as_of: AS_OF = None,
    page: PAGE = 1,
    page_size: PAGE_SIZE = 50,
) -> None:
    """List whom and what a user's memories name, most named first. With --id, show all that is known of one."""
    if entity_id is not None:
        _print(output, await client.entity(user, entity_id, agent, as_of=as_of))
        return
    found = await client.entities(user, agent, kind=kind, page=page, page_size=page_size, as_of=as_of)
    output.table(
        ("name", "kind", "memories", "first", "last", "id"),
        [
            (_called(e), e["kind"], e["memories"], e["first_at"][:10], e["last_at"][:10], e["entity_id"])
            for e in found["items"]
        ],
        f"no memory of {user} names {'anything' if kind is None else f'any {kind}'}",
        of=found,
    )
    output.say_page(found)


def _print(output: Output, entity: dict[str, Any]) -> None:
    if output.as_json:
        output.json(entity)
        return
    output.text(f"{_called(entity)} ({entity['kind']})")
    output.table(
        ("since", "memory", "until", "id"),
        [
            ((f["valid_from"] or f["occurred_at"])[:10], f["content"], (f["valid_to"] or "")[:10], f["memory_id"])
            for f in entity["facts"]
        ],
        "no memory names it",
    )
    for other in entity["related"]:
        output.text(f"with {other['name']} ({other['kind']}): {other['together']}")


def _called(entity: dict[str, Any]) -> str:
    """Return a name with its other spellings."""
    return " / ".join((entity["name"], *entity["aliases"]))
