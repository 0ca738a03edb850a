"""The table of the policies of decay, and what holds of each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.examples import happened, later, said, tick
from support.given import given
from support.tables import each

from schemas.messages.events import MemoryDecayed, MemoryExpired
from schemas.vocabulary.words import RETENTION, WAKE
from streams.decisions import decay_policies
from streams.decisions.decay_policies.registry import POLICIES

ROOT = Path(__file__).resolve().parents[4]
FADING = [name for name, policy in POLICIES.items() if policy.rule is not None]
KNOWN = (
    said("用户喜欢喝咖啡", "t-1", importance=1.0),
    happened("送花", "t-2", importance=0.5),
    said("用户明天去柏林", "t-3", memory_type="short_term"),
)


def test_every_file_but_those_of_the_table_itself_is_a_policy_in_the_table():
    files = {Path(file).stem for file in Path(decay_policies.__file__).parent.glob("*.py")}
    assert files - {"__init__", "policy", "registry"} == {name.replace("-", "_") for name in POLICIES}


def test_no_policy_is_named_as_another_kind_of_tick():
    assert not {RETENTION, WAKE} & set(POLICIES)


@pytest.mark.parametrize("name", FADING)
def test_a_tick_lowers_nothing_but_what_its_policy_measures_and_says_so(name: str):
    rule = POLICIES[name].rule
    assert rule is not None
    before = given(*KNOWN)
    after = before.when(tick(later(days=30), name))
    faded = [e for e in after.events if isinstance(e, MemoryDecayed)]
    assert faded
    for event in faded:
        was, now = before.state.memories[event.memory_id], after.state.memories[event.memory_id]
        assert (event.policy, event.measure) == (name, rule.measure)
        assert (event.before, event.after) == (getattr(was, rule.measure), getattr(now, rule.measure))
        changed: dict[str, Any] = {rule.measure: event.after, "last_tick_id": event.tick_id, "version": was.version + 1}
        assert now == replace(was, **changed)


@pytest.mark.parametrize("name", FADING)
def test_what_has_passed_its_expiry_expires_under_every_policy_with_a_rule(name: str):
    before = given(*KNOWN)
    after = before.when(tick(later(days=3), name))
    expired = [e for e in after.events if isinstance(e, MemoryExpired)]
    assert [(e.memory_id, e.reason) for e in expired] == [(before.of("用户明天去柏林").memory_id, "short_term")]


@each("page", ["docs/explanation/forgetting.md", "docs/reference/settings.md"])
@each("name", POLICIES)
def test_every_policy_is_on_the_pages_that_list_them(name: str, page: str):
    assert f"`{name}`" in (ROOT / page).read_text("utf-8")
