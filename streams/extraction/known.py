"""What is known: the memories that a model is shown with a window, so that it can say which of them change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.serving import views_of
from projections.index.protocol import IndexQuery, IndexUnavailable
from projections.profile.visibility import NAME, Topics, Visibility, about_topics
from projections.shard.errors import ShardUnavailable
from projections.state.memory import ACTIVE
from projections.text.analyser import terms
from projections.text.measure import rough_tokens
from schemas.identity import Owner
from schemas.vocabulary.attributes import is_single
from streams.extraction.model.examples import KNOWN
from streams.extraction.model.prompts import known_line
from streams.extraction.protocol import Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.embedding.embedder import Embedder
    from projections.embedding.serving import View
    from projections.index.sync import IndexSync
    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.state.memory import Memory, UserState
    from streams.extraction.protocol import Window

MOST: Final = 200
"""The most memories that are considered for one window."""
_CHARACTERS: Final = 2_000
"""The most characters of a window's text with which memories are searched for."""


def within(known: Iterable[Known], tokens: int) -> list[Known]:
    """Return the memories whose lines and heading fit into that many tokens, in order; those too long are skipped."""
    left = tokens - rough_tokens(f"{KNOWN}\n\n")
    kept: list[Known] = []
    for one in known:
        if (size := rough_tokens(f"{known_line(len(kept) + 1, one)}\n")) <= left:
            kept.append(one)
            left -= size
    return kept


class KnownMemories:
    """Finds the memories that are related to what a window's user says."""

    def __init__(
        self,
        shards: Shards,
        index_sync: IndexSync,
        embedder: Embedder,
        visibility: Callable[[Held, str | None], Visibility],
        tokens: int,
    ) -> None:
        """`visibility` returns what an agent may see of a user; `tokens` bounds what is shown."""
        self._shards = shards
        self._index_sync = index_sync
        self._embedder = embedder
        self._visibility = visibility
        self._tokens = tokens

    async def of(self, window: Window) -> list[Known]:
        """Return the memories to show with a window, the nearest to what the user says first. Raises NotHeld.

        They are personal, active at the window's time, and visible to its agent. Those whose key or value the user
        names come before the others; if turns name their speakers, the user's name comes before all. If the index or
        the shard's file is unavailable, there are none.
        """
        try:
            return await self._found(window)
        except (IndexUnavailable, ShardUnavailable):
            return []

    async def _found(self, window: Window) -> list[Known]:
        """Return the memories to show, as `of` does. Also raises IndexUnavailable and ShardUnavailable."""
        owner = Owner.of(window.tenant, window.user_id)
        said = "\n".join(p.text for p in window.pieces if p.speaker != "assistant")[:_CHARACTERS]
        held = self._shards.resolve(owner)
        await held.load()
        if not said.strip() or not held.state.memories:
            return []
        ids = await self._nearest(owner, said)
        state = held.state
        is_shown = self._shows(held, state, window)
        words = frozenset(terms(said))
        found = [m for i in ids if (m := state.memories.get(i)) is not None and is_shown(m)]
        found.sort(key=lambda m: not words.isdisjoint(_key_words(m)), reverse=True)  # stable: the nearest first
        if any(p.name for p in window.pieces if p.speaker == "user"):  # to compare with speakers
            names = (state.memories[i] for i in state.by_attribute.get(NAME, ()))
            found = list(dict.fromkeys([*(m for m in names if is_shown(m)), *found]))
        return within(map(_known, found), self._tokens)

    async def _nearest(self, owner: Owner, said: str) -> list[str]:
        """Return at most MOST memories: those nearest to a text in meaning, then those that share its words."""
        try:
            views = await views_of(self._embedder, said)
        except (EmbedderUnavailable, EmbedderRefused):
            views = ()
        words = tuple(dict.fromkeys(terms(said)))
        near: list[tuple[float, str]] = []
        by_words: list[str] = []
        for n, view in enumerate(views or (None,)):
            legs = await self._index_sync.search(owner, _query(owner, () if n else words, view))
            near += [(-hit.score, hit.memory_id) for hit in legs.semantic] if view else []
            by_words += [hit.memory_id for hit in legs.keyword]
        return list(dict.fromkeys([*(memory_id for _, memory_id in sorted(near)), *by_words]))[:MOST]

    def _shows(self, held: Held, state: UserState, window: Window) -> Callable[[Memory], bool]:
        """Return a test for whether a memory may be shown with a window."""
        at = max(piece.occurred_at for piece in window.pieces)
        visibility = self._visibility(held, window.agent_id)
        topics = Topics(memory.value or "" for memory in about_topics(state))

        def is_shown(memory: Memory) -> bool:
            if memory.status_at(at) != ACTIVE or memory.formed_at > at or not memory.visible_to(window.agent_id):
                return False
            match visibility:
                case Visibility.NAME_ONLY:
                    return memory.attribute == NAME
                case Visibility.NOTHING_SENSITIVE:
                    return not topics.touch(memory)
                case Visibility.EVERYTHING:
                    return True

        return is_shown


def _query(owner: Owner, words: tuple[str, ...], view: View | None) -> IndexQuery:
    return IndexQuery(
        tenant=owner.tenant,
        user_id=owner.user_id,
        tokens=words,
        vector=None if view is None else view.vector,
        embedding_model=None if view is None else view.model,
        limit=MOST,
    )


def _key_words(memory: Memory) -> Sequence[str]:
    """Return the words that name what a memory states.

    "I would like to" does not name the list of likes: for a list of the user's, only the value counts.
    """
    about = memory.about
    attribute = memory.attribute if memory.attribute and (about or is_single(memory.attribute)) else None
    return terms(" ".join(filter(None, (attribute, about, memory.value))))


def _known(memory: Memory) -> Known:
    return Known(
        memory_id=memory.memory_id,
        text=memory.content,
        day=memory.occurred_at.date(),
        attribute=memory.attribute or memory.becomes,
        value=memory.value,
        about=memory.about,
    )
