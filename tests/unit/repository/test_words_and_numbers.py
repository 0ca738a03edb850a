"""The words and numbers of the four systems are what mnemolog does where nobody says otherwise."""

from __future__ import annotations

from typing import get_args

import pytest
from support.examples import MONDAY, happened, later, said, tick
from support.given import given
from support.own_words import OwnWordsHere
from support.tables import each

from mnemolog.extensions.evatar.route import EvatarsMemories
from mnemolog.http.models.context_requests import Context
from mnemolog.http.models.memory_requests import NewMemory
from mnemolog.http.models.requests import DEFAULT_LIMIT, MAX_PAGE_SIZE, MemoriesAsked, Search
from mnemolog.settings import from_environment
from mnemolog.worker.greeting import PROMPT
from projections.queries.prompt import FREE_ATTRIBUTES, FREE_EPISODES
from schemas.vocabulary.attributes import LISTS, MAPS, SINGLE
from schemas.vocabulary.words import EVENT_TYPES, Category, MemoryType, Scope, SourceType
from streams.extraction.protocol import Piece, Window

DEFAULTS = from_environment({})
COFFEE = "用户喜欢喝咖啡"


def test_evatars_words_are_ours():
    assert set(get_args(Category)) == {
        "people", "finance", "schedule", "project", "preference", "interest", "habit", "fact",
    }  # fmt: skip
    assert get_args(MemoryType) == ("short_term", "long_term")
    assert {"chat", "photo", "inferred"} <= set(get_args(SourceType))
    assert get_args(Scope) == ("personal", "global")


def test_evatars_numbers_are_defaults():
    assert (DEFAULTS.llm_temperature, DEFAULTS.llm_max_tokens) == (0.2, 2048)
    assert (DEFAULTS.decay_policy, DEFAULTS.decay_hours, DEFAULTS.retention_days) == ("ladder", 24, 30)
    assert (DEFAULT_LIMIT, MAX_PAGE_SIZE) == (10, 200)
    for asked in (EvatarsMemories(), MemoriesAsked()):
        assert (asked.page, asked.page_size) == (1, 50)
    assert Context(user_id="u", query="").memory_limit == 8
    assert NewMemory(user_id="u", content="x").importance == 0.5


def test_lunas_numbers_are_defaults():
    assert (DEFAULTS.max_episodes, DEFAULTS.min_episode_grade) == (1000, 2)
    assert (DEFAULTS.episode_min_strength, DEFAULTS.keep_important) == (0.3, True)
    assert DEFAULTS.similarity_threshold == 0.7
    assert from_environment({"MNEMOLOG_DECAY_POLICY": "ebbinghaus"}).decay_hours == 7 * 24
    asked = Context(user_id="u", query="")
    assert (asked.top_k, asked.history_limit, asked.tier) == (5, 10, "paid")
    assert Search(user_id="u", query="x").limit == 5
    assert (FREE_ATTRIBUTES, FREE_EPISODES) == (("user_name", "birthday"), 3)


def test_lunas_numbers_that_differ_are_settings():
    luna = from_environment(
        {
            "MNEMOLOG_LLM_MODEL": "grok-beta",
            "MNEMOLOG_LLM_TEMPERATURE": "0.3",
            "MNEMOLOG_SAVE_EVERY_TURNS": "10",
            "MNEMOLOG_PROFILE_CONFLICT": "keep",
        }
    )
    assert (luna.llm_model, luna.llm_temperature, luna.save_every_turns) == ("grok-beta", 0.3, 10)
    assert luna.profile_conflict == "keep"


def test_powermems_numbers_are_defaults():
    assert (DEFAULTS.save_every_turns, DEFAULTS.idle_seconds) == (5, 30)
    assert (DEFAULTS.memorize, DEFAULTS.user_profile) == (True, True)
    assert DEFAULTS.greeting_timeout_seconds == 10


@each(
    "rule",
    [
        "a friendly and helpful voice assistant",
        "a warm, personalized greeting (2-3 sentences maximum)",
        "Reference specific details from the memories naturally",
        "respond in the most commonly used language of that region",
        "\nMemory Summary:\n",
    ],
)
def test_a_greeting_is_asked_for_as_powermem_asks_for_it(rule: str):
    assert rule in PROMPT


def test_the_words_and_numbers_of_wakes_are_defaults():
    assert DEFAULTS.wake_text == "[Periodic Wake] You are waking up for a routine check."
    assert (DEFAULTS.wake_every_seconds, DEFAULTS.wake_memory_limit, DEFAULTS.wake_query) == (None, 0, None)
    assert DEFAULTS.reminder_template == (
        "[Scheduled Reminder] Please remind user {user_id} on {channel}: {content}. Use send_message."
    )


@each(
    ("field", "kind"),
    [
        ("user_name", SINGLE),
        ("birthday", SINGLE),
        ("occupation", SINGLE),
        ("likes", LISTS),
        ("dislikes", LISTS),
        ("personality_traits", LISTS),
        ("pet_names", LISTS),
        ("important_dates", MAPS),
        ("sensitive_topics", LISTS),
    ],
)
def test_each_field_of_lunas_profile_is_an_attribute(field: str, kind: tuple[str, ...]):
    assert field in kind


def test_lunas_event_types_have_a_meaning_of_their_own():
    assert set(EVENT_TYPES) == {
        "confession", "first_kiss", "fight", "makeup", "gift", "milestone", "date", "anniversary", "personal_share",
        "casual",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "category", "content"),
    [
        ("我的同事叫张三", "people", "我的同事叫张三"),
        ("我持有 NVDA 股票", "finance", "我持有 NVDA 股票"),
        ("下周三有项目评审会议", "schedule", "下周三（2026-01-14）有项目评审会议"),
        ("我正在参与地铁工程招标项目", "project", "我正在参与地铁工程招标项目"),
        ("我喜欢用 Markdown 记笔记", "preference", "用户喜欢用 Markdown 记笔记"),
        ("我关注机器学习", "interest", "我关注机器学习"),
        ("我习惯晚上 10 点截图整理", "habit", "我习惯晚上 10 点截图整理"),
        ("我在上海住", "fact", "用户住在上海"),
        ("My colleague is called Tom", "people", "My colleague is called Tom"),
        ("I paid 300 euros for rent", "finance", "I paid 300 euros for rent"),
        ("I'm working on the subway project", "project", "I'm working on the subway project"),
        ("I'm interested in robotics", "interest", "User is interested in robotics"),
        ("I go running every morning", "habit", "I go running every morning"),
    ],
)
async def test_the_rules_lead_to_each_of_evatars_categories(text: str, category: str, content: str):
    turn = Piece(piece_id="t#0", event_id="t", speaker="user", text=text, occurred_at=MONDAY, recorded_at=MONDAY)
    window = Window(
        tenant="default",
        user_id="u",
        agent_id=None,
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=(turn,),
    )
    [found] = (await OwnWordsHere().extract(window)).proposals
    assert (found.category, found.content, found.memory_type) == (category, content, "long_term")


def test_what_is_long_term_never_expires_and_never_fades_away():
    """Ten years of daily ticks, of which those after the floor change nothing."""
    state = given(said(COFFEE, "t-1", importance=1.0))
    assert state.only.expires_at is None
    for day in (*range(8, 60), 365, 3650):
        state = state.when(tick(later(days=day)))
    assert (state.active(later(days=3650)), state.only.importance) == ([COFFEE], 0.1)


def test_what_is_short_term_is_shown_up_to_the_very_instant_of_its_expiry():
    state = given(said(COFFEE, "t-1", memory_type="short_term"))
    assert state.active(later(hours=48)) == [COFFEE]
    assert state.active(later(hours=48) + MONDAY.resolution) == []


def test_an_episode_of_lunas_begins_with_grade_2_full_strength_and_no_recalls():
    memory = given(happened("送了花", "t-1")).only
    assert (4 * memory.importance, memory.initial_strength, memory.recall_count) == (2.0, 1.0, 0)
    assert (memory.strength, memory.access_count) == (1.0, 0)
