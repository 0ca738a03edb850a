"""The context of an agent's next answer: what is in it, and how it is spelt for a prompt in three systems' words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from projections.state.importance import grade
from schemas.text import on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from projections.queries.search import Found
    from projections.state.memory import Memory
    from schemas.vocabulary.words import Tier

FREE_ATTRIBUTES: Final = ("user_name", "birthday")
FREE_EPISODES: Final = 3
"""What free users get (Luna): the basics, and the newest episodes."""
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
    """Hide nothing."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """What an agent should know before its next answer (Luna), without the working memory."""

    query: str
    tier: Tier
    user_profile: dict[str, Any] | None
    """None when nothing is known."""
    relevant_episodes: Sequence[Found]
    recent_episodes: Sequence[Memory]
    memories: Sequence[Found]
    total_memories: int
    most_important: Sequence[Memory]
    hides: Callable[[str], bool] = never
    """Tells of a text of the conversation whether it is not to be seen."""

    @property
    def prompt(self) -> str:
        """Luna's sections: the profile, and the episodes that are relevant; for free users in short, the newest."""
        free = self.tier == "free"
        episodes = self.recent_episodes if free else [found.memory for found in self.relevant_episodes]
        sections = [] if self.user_profile is None else [profile_section(self.user_profile, short=free)]
        return "\n".join([*sections, *([episodes_section(episodes)] if episodes else [])])

    @property
    def block(self) -> str:
        """Evatar's lines; empty without memories."""
        lines = [f"- [{m.memory_type}] [{m.category}] {on_one_line(m.content)}" for m in self.most_important]
        return "\n".join([BLOCK_HEADING, *lines]) if lines else ""

    @property
    def message(self) -> str:
        """PowerMem's template around the query; the query alone when nothing was found."""
        related = memorise(found.memory.content for found in self.memories)
        return MESSAGE.format(related_memory=related, user_query=self.query) if related else self.query


def profile_section(profile: dict[str, Any], *, short: bool = False) -> str:
    """Return Luna's section about the user."""
    return (SHORT_PROFILE_SECTION if short else PROFILE_SECTION).format(
        name=on_one_line(profile["user_name"] or UNKNOWN),
        birthday=on_one_line(profile["birthday"] or UNKNOWN),
        occupation=on_one_line(profile["occupation"] or UNKNOWN),
        likes=on_one_line(", ".join(profile["likes"])),
        traits=on_one_line(", ".join(profile["personality_traits"])),
    )


def episodes_section(episodes: Iterable[Memory]) -> str:
    """Return Luna's section of episodes, each with its grade of 1 to 4, rounded half up."""
    lines = (f"• {on_one_line(m.content)} (重要性: {int(grade(m.importance) + 0.5)}/4)\n" for m in episodes)
    return EPISODES_HEADING + "".join(lines)


def memorise(contents: Iterable[str]) -> str:
    """Return PowerMem's text of what was found; empty when nothing was."""
    lines = [f"- {on_one_line(content)}" for content in contents]
    return "Memorise:\n" + "\n".join(lines) + "\n" if lines else ""
