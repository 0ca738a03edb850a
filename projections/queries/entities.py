"""Entities: the people, places, organisations and things that a user's memories name, with the facts about each.

They are derived from the given memories and never stored. A name comes from a slot, from the subject or the speaker of
a memory, or from words that tell its kind (`projections.text.names`). Every memory that contains the name is a fact
about the entity.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from projections.text.analyser import fold
from projections.text.names import names_in, without_kin
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.state.memory import Memory
    from schemas.identity import Owner
    from schemas.vocabulary.words import EntityKind

MAX_RELATED: Final = 20
_SLOTS: Final[dict[str, EntityKind]] = {
    "employer": "organisation",
    "city": "place",
    "family": "person",
    "friends": "person",
    "pet_names": "person",
    "accounts": "thing",
}
"""Slots whose values are names."""
_WORD: Final = re.compile(r"[0-9a-z]+")
BEGIN: Final = 2
"""How many leading characters index the names in other scripts."""
_SURE: Final = 100
"""The weight of a slot or a speaker for the kind of a name, against 1 for the words around it."""
_NAME: Final = re.compile(r"[A-Z]\w+(?: [A-Z]\w+){0,2}")
"""The subject of a memory if it is a name and nothing else."""
_RELATION: Final = re.compile(r"^[a-z '’-]+$")
"""A value such as `my sister`, which is not a name."""


@dataclass(slots=True)
class Entity:
    """A named person, place, organisation or thing, and the memories that name it, the oldest first."""

    entity_id: str
    name: str
    kind: EntityKind
    aliases: list[str]
    """Other spellings of the name."""
    memories: list[Memory] = field(default_factory=list)


def entities(owner: Owner, memories: Iterable[Memory]) -> list[Entity]:
    """Return the entities that memories name, by number of memories descending, then by name.

    This takes long: call it in a thread.
    """
    known = sorted(memories, key=lambda memory: (memory.occurred_at, memory.memory_id))
    kinds: dict[str, Counter[EntityKind]] = {}
    spellings: dict[str, Counter[str]] = {}
    for memory in known:
        for name, kind, weight in _named(memory):
            key = fold(name)
            if len(key) < BEGIN or (key.isascii() and not _WORD.search(key)):
                continue
            kinds.setdefault(key, Counter())[kind] += weight
            spellings.setdefault(key, Counter())[name] += 1
    found = {}
    for key, counted in spellings.items():
        name, *aliases = [spelling for spelling, _ in counted.most_common()]
        [(kind, _)] = kinds[key].most_common(1)
        found[key] = Entity(entity_id(owner, key), name, kind, aliases)
    mentions = _Mentions(found)
    for memory in known:
        texts = (memory.content, memory.value, memory.about, memory.speaker)
        for key in mentions.within(fold("\n".join(text for text in texts if text))):
            found[key].memories.append(memory)
    # Among names with the same words, such as `X-7` and `X 7`, one gets all the memories.
    return sorted((e for e in found.values() if e.memories), key=lambda entity: (-len(entity.memories), entity.name))


def related(entity: Entity, others: Iterable[Entity]) -> list[tuple[Entity, int]]:
    """Return the entities that share memories with one, and the number of shared memories, the most first."""
    mine = {memory.memory_id for memory in entity.memories}
    counted = [
        (other, len(mine & {memory.memory_id for memory in other.memories})) for other in others if other is not entity
    ]
    return sorted(((o, n) for o, n in counted if n), key=lambda pair: (-pair[1], pair[0].name))[:MAX_RELATED]


def entity_id(owner: Owner, folded_name: str) -> str:
    """Return the id of an entity, derived from the user and the name, so that it never changes."""
    return derived_id("entity", owner.tenant, owner.user_id, folded_name)


def _named(memory: Memory) -> Iterable[tuple[str, EntityKind, int]]:
    kind = _SLOTS.get(memory.slot or "")
    if kind is not None and memory.value and not _RELATION.match(memory.value):
        names = [one.name for one in names_in(memory.value)] or [
            without_kin(memory.value.strip())
        ]  # `sister Ines` gives Ines
        yield from ((name, kind, _SURE) for name in names)
    if memory.speaker:
        yield memory.speaker, "person", _SURE
    if memory.about and _NAME.fullmatch(memory.about):
        yield memory.about, "person", 1  # other words may outweigh this
    for named in names_in(memory.content):
        yield named.name, named.kind, 1


class _Mentions:
    """An index of names by beginning and length; the time to search a text does not grow with their number."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._words: dict[tuple[str, ...], str] = {}
        self._word_counts: dict[str, set[int]] = {}
        self._characters: set[str] = set()
        self._lengths: dict[str, set[int]] = {}
        for key in keys:
            if key.isascii():
                words = tuple(_WORD.findall(key))
                self._words[words] = key
                self._word_counts.setdefault(words[0], set()).add(len(words))
            else:
                self._characters.add(key)
                self._lengths.setdefault(key[:BEGIN], set()).add(len(key))

    def within(self, text: str) -> set[str]:
        """Return the names in a folded text; a Latin name must consist of whole words."""
        words = tuple(_WORD.findall(text))
        found = {
            self._words[name]
            for place, word in enumerate(words)
            for count in self._word_counts.get(word, ())
            if (name := words[place : place + count]) in self._words
        }
        for place in range(len(text) if self._characters else 0):
            for length in self._lengths.get(text[place : place + BEGIN], ()):
                if (name_there := text[place : place + length]) in self._characters:
                    found.add(name_there)
        return found
