"""`mnemolog memories`, `memory`, `remember`, `revise`, `forget`, `restore`: memories, and commands about them."""

from typing import Annotated, Any

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.options import (
    ABOUT,
    AGENT,
    APP,
    AS_OF,
    EXPIRES_AT,
    FILTER,
    MEMORY_ID,
    METADATA,
    OF_SESSION,
    ONE_ATTRIBUTE,
    PAGE,
    PAGE_SIZE,
    SOME_USER,
    SPEAKER,
    USER,
)
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument, Option
from mnemolog.client.client import AsyncClient
from schemas.vocabulary.words import Category, Kind, MemoryType, Scope, Status

CONTENT = Annotated[str, Argument(help="The text to remember, word for word.")]
SOME_MEMORY = Annotated[str | None, Argument(metavar="[MEMORY_ID]")]
PREVIEW = Annotated[bool, Option("--preview", help="Only show which would be forgotten.")]
FOREVER = Annotated[bool, Option("--forever", help="Erase them, together with the events that they came from.")]
STATUS = Annotated[Status, Option("--status")]
KIND = Annotated[Kind | None, Option("--kind")]
CATEGORY = Annotated[Category | None, Option("--category")]
TYPE = Annotated[MemoryType, Option("--type")]
IMPORTANCE = Annotated[float, Option("--importance", min=0.0, max=1.0)]
ATTRIBUTE = Annotated[str | None, Option("--attribute", help="The attribute of the profile that it fills.")]
VALUE = Annotated[str | None, Option("--value", help="The value of the attribute.")]
EVENT_TYPE = Annotated[str | None, Option("--event-type", help="The kind of event.")]
EMOTION = Annotated[str | None, Option("--emotion", help="The emotion that was felt.")]
INTENSITY = Annotated[float | None, Option("--emotion-intensity", min=0.0, max=1.0)]
KEY_DIALOGUE = Annotated[
    list[str] | None, Option("--key-dialogue", help="A line that was said; repeat it for several lines.")
]
SCOPE = Annotated[Scope, Option("--scope", help="`global` is shared by all users.")]
NO_EXPIRY = Annotated[bool, Option("--no-expiry", help="Let it no longer expire.")]
VERSION = Annotated[
    int | None, Option("--expected-version", min=1, help="Fail if the memory is no longer at this version.")
]
commands = Commands()


@commands.add("memories", only_reads=True, again=True)
async def memories(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    session: OF_SESSION = None,
    app: APP = None,
    status: STATUS = "active",
    kind: KIND = None,
    category: CATEGORY = None,
    about: ABOUT = None,
    speaker: SPEAKER = None,
    attribute: ONE_ATTRIBUTE = None,
    filters: FILTER = None,
    as_of: AS_OF = None,
    page: PAGE = 1,
    page_size: PAGE_SIZE = 50,
) -> None:
    """List a user's memories, the most important first."""
    found = await client.memories(
        user,
        agent_id=agent,
        session_id=session,
        app_id=app,
        status=status,
        kind=kind,
        category=category,
        about=about,
        speaker=speaker,
        attribute=attribute,
        filters=filters,
        as_of=as_of,
        page=page,
        page_size=page_size,
    )
    output.table(
        ("importance", "memory", "category", "type", "strength", "id"),
        [
            (m["importance"], m["content"], m["category"], m["memory_type"], m["strength"], m["memory_id"])
            for m in found["items"]
        ],
        f"{user} has no {status} memories here",
        of=found,
    )
    output.say_page(found)


@commands.add("memory", only_reads=True, again=True)
async def memory(
    client: AsyncClient, output: Output, memory_id: MEMORY_ID, *, user: SOME_USER = None, as_of: AS_OF = None
) -> None:
    """Show all of a memory, whatever its status."""
    output.fields(await client.memory(memory_id, user_id=user, as_of=as_of))


@commands.add("remember")
async def remember(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    content: CONTENT,
    *,
    user: USER = "owner",
    agent: AGENT = None,
    app: APP = None,
    category: Annotated[Category, Option("--category")] = "fact",
    memory_type: TYPE = "long_term",
    importance: IMPORTANCE = 0.5,
    about: ABOUT = None,
    attribute: ATTRIBUTE = None,
    value: VALUE = None,
    scope: SCOPE = "personal",
    metadata: METADATA = None,
    expires_at: EXPIRES_AT = None,
) -> None:
    """Remember a statement as it is. An exact duplicate of a known one counts as an access to that.

    Without an attribute its key, its day and what it ends are read in its words. Similar memories are shown below it.
    """
    _print(
        output,
        await client.remember(
            content,
            user,
            agent,
            app_id=app,
            category=category,
            memory_type=memory_type,
            importance=importance,
            about=about,
            attribute=attribute,
            value=value,
            scope=scope,
            metadata=metadata,
            expires_at=expires_at,
        ),
    )


@commands.add("revise")
async def revise(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    memory_id: MEMORY_ID,
    *,
    user: SOME_USER = None,
    content: Annotated[str | None, Option("--content", help="The new text.")] = None,
    about: ABOUT = None,
    category: CATEGORY = None,
    memory_type: Annotated[MemoryType | None, Option("--type")] = None,
    importance: Annotated[float | None, Option("--importance", min=0.0, max=1.0)] = None,
    value: VALUE = None,
    event_type: EVENT_TYPE = None,
    emotion: EMOTION = None,
    emotion_intensity: INTENSITY = None,
    key_dialogue: KEY_DIALOGUE = None,
    metadata: METADATA = None,
    expires_at: EXPIRES_AT = None,
    no_expiry: NO_EXPIRY = False,
    expected_version: VERSION = None,
) -> None:
    """Change what is given of a memory, and nothing else. Of an episode, an empty word is taken away.

    Of the metadata, members are set, and those that are null are taken away.
    """
    if no_expiry and expires_at is not None:
        raise CommandFailed("--expires-at and --no-expiry: give one of them")
    expiry: dict[str, Any] = {"expires_at": expires_at} if no_expiry or expires_at is not None else {}
    whom: dict[str, Any] = {} if about is None else {"about": about}
    _print(
        output,
        await client.revise(
            memory_id,
            user_id=user,
            content=content,
            category=category,
            memory_type=memory_type,
            importance=importance,
            value=value,
            event_type=event_type,
            emotion=emotion,
            emotion_intensity=emotion_intensity,
            key_dialogue=[line for line in key_dialogue if line] if key_dialogue else None,
            metadata=metadata,
            expected_version=expected_version,
            **expiry,
            **whom,
        ),
    )


@commands.add("forget")
async def forget(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    memory_id: SOME_MEMORY = None,
    *,
    user: SOME_USER = None,
    session: OF_SESSION = None,
    app: APP = None,
    about: ABOUT = None,
    speaker: SPEAKER = None,
    filters: FILTER = None,
    preview: PREVIEW = False,
    forever: FOREVER = False,
) -> None:
    """Forget a memory, or those of a user that meet a filter.

    They can no longer be found; their history stays, and `restore` brings them back.
    """
    is_narrowed = any(one is not None for one in (filters, session, app, about, speaker))
    if memory_id is not None and not is_narrowed and not preview and not forever:
        _print(output, await client.forget(memory_id, user_id=user))
        return
    if memory_id is not None or user is None or not is_narrowed:
        raise CommandFailed(
            "name a memory, or say by --user and --filter (or --session, --app, --about, --speaker) which to forget; "
            "`erase --memory` erases one"
        )
    found = await client.forget_memories(
        user,
        filters=filters,
        session_id=session,
        app_id=app,
        about=about,
        speaker=speaker,
        preview=preview,
        forever=forever,
    )
    if output.as_json:
        output.json(found)
        return
    output.fields({("would go" if preview else "gone"): len(found["items"]), "left": found["left"]})
    output.table(("memory",), [(one,) for one in found["items"]], "no memory meets the filter")


@commands.add("restore")
async def restore(client: AsyncClient, output: Output, memory_id: MEMORY_ID, *, user: SOME_USER = None) -> None:
    """Bring a forgotten or expired memory back."""
    _print(output, await client.restore(memory_id, user_id=user))


def _print(output: Output, memory: dict[str, Any]) -> None:
    if output.as_json:
        output.json(memory)
    elif "memory_id" in memory:
        output.text(f"{memory['memory_id']}  {memory['status']}  {memory['content']}")
        for one in memory.get("similar", ()):
            output.text(f"similar: {one['memory_id']}  {one['content']}")
    else:
        output.say("accepted; it will be decided in a moment")
