"""The context of an agent's next answer: its parts, and its wording for a prompt in the formats of three systems.

Each format has a marked form, in which every line ends with its provenance; the plain form is the system's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from projections.queries.context_text import ContextLines
from projections.queries.filters import CHAT
from projections.queries.turns.index import said_by
from projections.state.importance import grade
from projections.state.provenance import marked, provenance_of
from schemas.instant import instant, shown_day
from schemas.text import on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from projections.queries.answers import SearchResult
    from projections.queries.context_text import Language
    from projections.queries.search import Found, FoundTurn
    from projections.state.memory import Memory
    from schemas.vocabulary.words import Tier

FREE_ATTRIBUTES: Final = ("user_name", "birthday")
FREE_EPISODES: Final = 3
"""The number of episodes for free users (Luna), who get FREE_ATTRIBUTES and the newest episodes."""
EPISODIC: Final = "episodic"
MAX_TOKENS: Final = 800
_PAST: Final = {"en": " (past)", "zh": "（已过）"}
_STATED: Final = ("User ", "User's ", "用户")
"""The beginnings of statements that give a value."""
UNKNOWN: Final = "未知"
PROFILE_SECTION: Final = """
=== 🧑💼 用户信息 ===
• 姓名: {name}
• 生日: {birthday}
• 职业: {occupation}
• 喜好: {likes}
• 性格: {traits}
"""
SHORT_PROFILE_SECTION: Final = """
=== 🧑💼 用户信息 ===
• 姓名: {name}
• 生日: {birthday}
"""
EPISODES_HEADING: Final = "=== 💭 相关回忆 ===\n"
BLOCK_HEADING: Final = "## 用户记忆"
MESSAGE: Final = """Here's what I remember from our past conversations that might be relevant:

{related_memory}

Now the user is asking: {user_query}

Please respond naturally, as if you're continuing our conversation. Reference the memories when relevant, but keep it \
conversational and helpful."""
"""PowerMem's CONTEXT_MESSAGE_WITH_MEMORY_TEMPLATE."""


def never(_text: str) -> bool:
    """Return False: nothing is hidden."""
    return False


def plain(text: str, _provenance: str) -> str:
    """Return a text on one line, without a mark."""
    return on_one_line(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The knowledge for an agent's next answer (Luna), without the working memory."""

    query: str
    tier: Tier
    user_profile: dict[str, Any] | None
    """None if nothing is known."""
    relevant_episodes: Sequence[Found]
    recent_episodes: Sequence[Memory]
    memories: Sequence[Found]
    total_memories: int
    most_important: Sequence[Memory]
    hides: Callable[[str], bool] = never
    """A test of whether a text of the conversation must stay hidden."""
    provenances: Mapping[str, str] | None = None
    """The provenances of the profile's memories, by id; None for unmarked lines."""
    turns: Sequence[FoundTurn] = ()
    result: SearchResult[Found | FoundTurn] | None = None
    """The memories and turns found for the query; None if nothing was searched."""
    coming: Sequence[Memory] = ()
    """The plans of the next two weeks, the soonest first."""
    language: Language = "en"
    max_tokens: int = MAX_TOKENS
    """The most tokens of `text`."""
    has_passed: Callable[[Memory], bool] = lambda _: False
    """A test of whether a memory is a plan whose day has passed."""

    @property
    def _spell(self) -> Callable[[str, str], str]:
        return plain if self.provenances is None else marked

    @property
    def text(self) -> str:
        """The context in plain text for a model, in our own format; empty if nothing is known."""

        def line(memory: Memory) -> str:
            has_day = memory.kind == EPISODIC or memory.occurred_at > memory.formed_at
            day = f"{shown_day(str(instant(memory.occurred_at)), instant(memory.formed_at))}" if has_day else ""
            over = _PAST[self.language] if self.has_passed(memory) else ""
            return f"- {day}{over}{' ' if day or over else ''}{self._spell(memory.content, provenance_of(memory))}"

        said = (f"- {str(instant(one.said_at))[:10]} {self._spell(said_by(one.turn), CHAT)}" for one in self.turns)
        lines = ContextLines(
            profile=self.user_profile,
            spell=self._profile_value,
            coming=list(map(line, self.coming)),
            important=[line(memory) for memory in self.most_important if not self._profile_says(memory)],
            relevant=[line(found.memory) for found in self.memories if not self._profile_says(found.memory)],
            said=list(said),
        )
        return lines.text(self.language, self.max_tokens)

    def _profile_says(self, memory: Memory) -> bool:
        """Return whether a memory only states a value of the profile, as "User's name is Ann" does."""
        return self.user_profile is not None and memory.slot is not None and memory.content.startswith(_STATED)

    def _profile_value(self, attribute: str, value: str) -> str:
        """Return a value of the profile, with the provenance of its memory if lines are marked."""
        sources = (self.user_profile or {}).get("sources", {})
        known = sources.get(attribute) or sources.get("other", {}).get(attribute) or {}
        of_value = known if isinstance(known, str) else known.get(value) or known.get(value.rpartition(" ")[0])
        return _spelt(value, of_value, self.provenances)

    @property
    def prompt(self) -> str:
        """Luna's sections: the profile and the relevant episodes; a short profile and the newest for free users."""
        free = self.tier == "free"
        episodes = self.recent_episodes if free else [found.memory for found in self.relevant_episodes]
        sections = (
            []
            if self.user_profile is None
            else [profile_section(self.user_profile, short=free, provenances=self.provenances)]
        )
        return "\n".join([*sections, *([episodes_section(episodes, self._spell)] if episodes else [])])

    @property
    def block(self) -> str:
        """Evatar's lines; empty without memories."""
        spell = self._spell
        lines = [
            f"- [{m.memory_type}] [{m.category}] {spell(m.content, provenance_of(m))}" for m in self.most_important
        ]
        return "\n".join([BLOCK_HEADING, *lines]) if lines else ""

    @property
    def message(self) -> str:
        """PowerMem's template around the query; the query alone if nothing was found."""
        spell = self._spell
        related = memorise(spell(found.memory.content, provenance_of(found.memory)) for found in self.memories)
        return MESSAGE.format(related_memory=related, user_query=self.query) if related else self.query


def profile_section(
    profile: dict[str, Any], *, short: bool = False, provenances: Mapping[str, str] | None = None
) -> str:
    """Return Luna's section about the user; `provenances`, by memory id, mark its values if given."""
    memories = profile.get("sources", {})

    def single(name: str) -> str:
        return _spelt(profile[name], memories.get(name), provenances) if profile[name] else UNKNOWN

    def several(name: str) -> str:
        sources = memories.get(name, {})
        return on_one_line(", ".join(_spelt(value, sources.get(value), provenances) for value in profile[name]))

    return (SHORT_PROFILE_SECTION if short else PROFILE_SECTION).format(
        name=single("user_name"),
        birthday=single("birthday"),
        occupation=single("occupation"),
        likes=several("likes"),
        traits=several("personality_traits"),
    )


def _spelt(value: str, memory_id: str | None, provenances: Mapping[str, str] | None) -> str:
    """Return a value of the profile on one line, marked if the provenance of its memory is given."""
    provenance = None if provenances is None or memory_id is None else provenances.get(memory_id)
    return on_one_line(value) if provenance is None else marked(value, provenance)


def episodes_section(episodes: Iterable[Memory], spell: Callable[[str, str], str] = plain) -> str:
    """Return Luna's section of episodes, each with its grade from 1 to 4, rounded half up."""
    lines = (f"• {spell(m.content, provenance_of(m))} (重要性: {int(grade(m.importance) + 0.5)}/4)\n" for m in episodes)
    return EPISODES_HEADING + "".join(lines)


def memorise(contents: Iterable[str]) -> str:
    """Return PowerMem's text for the results; empty without results."""
    lines = [f"- {on_one_line(content)}" for content in contents]
    return "Memorise:\n" + "\n".join(lines) + "\n" if lines else ""
