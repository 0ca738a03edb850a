"""Options that several commands share."""

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

import typer

Category: TypeAlias = Literal["people", "finance", "schedule", "project", "preference", "interest", "habit", "fact"]
Kind: TypeAlias = Literal["semantic", "episodic"]
MemoryType: TypeAlias = Literal["long_term", "short_term"]
Policy: TypeAlias = Literal["ladder", "ebbinghaus", "off"]
Scope: TypeAlias = Literal["personal", "global"]
Status: TypeAlias = Literal["active", "expired", "forgotten", "superseded"]

USER = Annotated[str, typer.Option("--user", "-u", help="Whose memory it is.")]
SOME_USER = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory it is, if not anybody's.")]
AGENT = Annotated[str | None, typer.Option("--agent", "-a", help="The assistant that the user talks to.")]


def read_instant(text: str) -> datetime:
    """Return an RFC 3339 time, or the beginning of a day in UTC. Raises typer.BadParameter."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time: write 2026-01-05T08:00:00Z, or 2026-01-05") from None
    if moment.tzinfo is None:
        if len(text) > len("2026-01-05"):
            raise typer.BadParameter(f"{text!r} has no offset: write it with Z for UTC, or with +08:00")
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


AS_OF = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=read_instant, metavar="TIME", help="Answer for a past effective time."),
]
