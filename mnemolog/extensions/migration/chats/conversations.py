"""Exports that are one JSON list of conversations: `conversations.json` of ChatGPT and of Claude."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mnemolog.extensions.migration.json_arrays import elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mnemolog.extensions.migration.chats.archive import Part
    from mnemolog.extensions.migration.chats.message import Item, Items

FILES: Final = re.compile(r"conversations(?:-\d+)?\.json")


def items(part: Part, items_of: Callable[[str, int, object], Iterator[Item]]) -> Items:
    """Yield the contents; `items_of` reads a conversation from the file, its number and its JSON. Raises Unreadable."""
    with part.opened() as stream:
        seen = 0
        for number, conversation in enumerate(elements(part.name, stream, ("conversations",)), 1):
            here = stream.tell()
            size, seen = here - seen, here
            for item in items_of(part.name, number, conversation):
                yield item, size
                size = 0
