"""A record is built of another's fields and of those that are given."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from schemas.messages.copied_fields import builder, copied_names


@dataclass(frozen=True)
class Source:
    name: str
    number: int
    colour: str


@dataclass(frozen=True)
class Target:
    name: str
    number: float
    colour: str
    size: int = 0


build = builder(Target, copied_names(Source, Target))


def test_what_both_spell_alike_is_copied_and_all_else_given():
    assert build(Source("a", 1, "red"), number=2.5, size=3) == Target("a", 2.5, "red", 3)


def test_what_is_not_given_has_the_default_of_the_target():
    assert build(Source("a", 1, "red"), number=2.5) == Target("a", 2.5, "red")


def test_what_is_neither_copied_nor_given_must_have_a_default():
    with pytest.raises(TypeError):
        build(Source("a", 1, "red"))
