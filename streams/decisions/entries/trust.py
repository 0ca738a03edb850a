"""Trust: the user's own words decide more than other words.

Screens and articles are other people's text, and so is the text that an assistant reads out. They may become memories,
but they do not fill single slots of the profile and do not reinforce a memory. The importance of a memory from a screen
or an article is at most that of an ordinary one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.profile.visibility import SENSITIVE
from projections.state.memory import ACTIVE
from schemas.vocabulary.attributes import MAPS, NICKNAME, OPPOSITES
from schemas.vocabulary.facts import subject_of
from streams.decisions import slots

if TYPE_CHECKING:
    from projections.state.memory import Memory, UserState
    from schemas.messages.inbox import Candidate, CandidatesExtracted, CoveredPiece
    from streams.decisions.duplicates.matching import Statement

CHAT: Final = "chat"
ASSISTANTS: Final = frozenset({"assistant", "ai", "ai assistant", "助手", "ai助手"})
"""Names of speakers that mean an assistant."""
SHOWN: Final = ("photo", "inferred")
"""Source types that are not speech: a screen, an article."""
MOST_IMPORTANCE_SHOWN: Final = 0.5
"""The greatest importance of a memory from a screen or an article, 0 to 1.

It is Evatar's default for all memories, and Luna's least grade of an episode (2 of 4). Shown content is thus kept as
those systems keep it, and never precedes statements that the user marked as important.
"""


def is_by_user(item: CandidatesExtracted, piece: CoveredPiece) -> bool:
    """Return whether a piece is a turn of the user. Older logs also mark screens as the user's words."""
    return piece.by_user and item.source_type == CHAT


def is_by_speaker(item: CandidatesExtracted, candidate: Candidate) -> bool:
    """Return whether another person in the conversation, but not an assistant, made the statement about themselves."""
    if item.source_type != CHAT or candidate.speaker is None:
        return False
    speaker = subject_of(candidate.speaker.text)
    return (
        speaker is not None
        and speaker not in ASSISTANTS
        and speaker == subject_of(candidate.about and candidate.about.text)
    )


def bounded(item: CandidatesExtracted, candidate: Candidate) -> Candidate:
    """Return a candidate with its importance limited by its source."""
    if item.source_type not in SHOWN or candidate.importance <= MOST_IMPORTANCE_SHOWN:
        return candidate
    return replace(candidate, importance=MOST_IMPORTANCE_SHOWN)


def needs_user(state: UserState, said: Statement) -> bool:
    """Return whether only the user, or the subject, can fill the slot that a statement names.

    This applies to slots with one value (also to one for each name in a map), to topics to avoid, which hide other
    memories, and to a like or dislike whose opposite is known and would be replaced.
    """
    if said.attribute is None:
        return False
    if said.is_single or said.attribute in (*MAPS, NICKNAME, SENSITIVE):
        return True
    return said.attribute in OPPOSITES and bool(slots.present(slots.opposed(state, said, keeps=False), said.effective))


def is_echo(memory: Memory, said: Statement) -> bool:
    """Return whether a memory makes the user's statement but was not allowed to fill its slot."""
    return (
        said.attribute is not None
        and memory.attribute is None
        and memory.source_type in (CHAT, *SHOWN)
        and (said.is_single or said.attribute in (*MAPS, SENSITIVE))
    )


def without_echoes(alike: list[Memory], said: Statement) -> tuple[list[Memory], list[Memory]]:
    """Divide similar memories into true matches and the active echoes that the statement replaces."""
    echoes = {m.memory_id: m for m in alike if is_echo(m, said) and m.status_at(said.effective) == ACTIVE}
    return [m for m in alike if m.memory_id not in echoes], list(echoes.values())
