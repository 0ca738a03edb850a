"""Sending lines in batches, with a progress bar and the list of refused lines; shared by `publish` and `import`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cli.invocation import CommandFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mnemolog.cli.lines.event_lines import BadLine, EventLine
    from mnemolog.cli.lines.publisher import LinePublisher
    from mnemolog.cli.output import Output

SHOWN_REFUSALS: Final = 100


@dataclass(slots=True)
class Refusals:
    """The refused lines, of which the first ones are shown to a person."""

    output: Output
    all: list[BadLine] = field(default_factory=list)

    def take(self, bad: BadLine) -> None:
        """Record a line, and show it."""
        self.all.append(bad)
        if len(self.all) <= SHOWN_REFUSALS:
            self.output.say(f"{bad.file}:{bad.line}: {bad.error}")
        elif len(self.all) == SHOWN_REFUSALS + 1:
            self.output.say("…and more; --json lists all")

    def listed(self, order: Callable[[BadLine], Any]) -> list[dict[str, Any]]:
        """Return them for --json."""
        return [{"file": b.file, "line": b.line, "error": b.error} for b in sorted(self.all, key=order)]


async def send_all(
    reading: AsyncIterator[tuple[list[EventLine | BadLine], int]],
    publisher: LinePublisher,
    output: Output,
    *,
    task: str,
    unit: str,
    total: int | None,
) -> None:
    """Send the lines read, with a progress bar of the given size. Raises CommandFailed if reading fails."""
    try:
        with output.progress(unit) as bar:
            going = bar.add_task(task, total=total)
            async for lines, size in reading:
                for line in lines:
                    await publisher.take(line)
                if not lines:
                    await publisher.flush()
                bar.advance(going, size)
            await publisher.flush()
    except OSError as error:
        raise CommandFailed(f"cannot read: {error}") from error


@asynccontextmanager
async def interruptible(
    output: Output, publisher: LinePublisher, refusals: Refusals, again: str
) -> AsyncIterator[None]:
    """Report the progress if sending ends early; advise to run it `again`, unless the input must change."""
    try:
        yield
    except BaseException as error:
        far = f"everything up to {publisher.reached} is settled" if publisher.reached else "nothing was sent"
        hint = "" if isinstance(error, CommandFailed) else f" {again}"
        output.say(f"stopped: accepted {publisher.accepted}, refused {len(refusals.all)}; {far}.{hint}")
        raise
