"""The faster constructor and `replace` of frozen dataclasses do what their own do."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from schemas.fast_init import fast_init, replacer


@dataclass(frozen=True, slots=True)
class Plain:
    place: str
    number: int = 1
    names: list[str] = field(default_factory=list)
    said: str | None = field(default=None, kw_only=True)
    needed: str = field(kw_only=True)


@fast_init
@dataclass(frozen=True, slots=True)
class Fast:
    place: str
    number: int = 1
    names: list[str] = field(default_factory=list)
    said: str | None = field(default=None, kw_only=True)
    needed: str = field(kw_only=True)


CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (("here",), {"needed": "x"}),
    (("here", 2, ["a"]), {"needed": "x", "said": "y"}),
    ((), {"place": "here", "names": ["b"], "needed": "x"}),
)


@pytest.mark.parametrize(("places", "names"), CALLS)
def test_it_takes_what_the_own_one_takes(places: tuple[Any, ...], names: dict[str, Any]):
    made = Fast(*places, **names)
    assert repr(made) == repr(Plain(*places, **names)).replace("Plain", "Fast")
    assert made == Fast(*places, **names)
    assert type(made) is Fast


@pytest.mark.parametrize(
    ("places", "names"), [((), {"needed": "x"}), (("here",), {}), (("here", 1, [], "said"), {"needed": "x"})]
)
def test_it_refuses_what_the_own_one_refuses(places: tuple[Any, ...], names: dict[str, Any]):
    for made in (Plain, Fast):
        with pytest.raises(TypeError):
            made(*places, **names)


def test_what_it_makes_is_frozen():
    made = Fast("here", needed="x")
    with pytest.raises(FrozenInstanceError):
        made.place = "there"  # type: ignore[misc]


def test_a_default_is_made_for_each():
    assert Fast("here", needed="x").names is not Fast("here", needed="x").names


def test_what_it_makes_is_copied_and_pickled():
    made = Fast("here", needed="x")
    assert replace(made, number=3) == Fast("here", 3, needed="x")
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - its own


def test_a_copy_has_what_was_changed_and_all_else():
    made = Fast("here", 2, ["a"], needed="x")
    changed = replacer(Fast)(made, number=3, said="y")
    assert changed == replace(made, number=3, said="y")
    assert type(changed) is Fast
    assert made == Fast("here", 2, ["a"], needed="x")


def test_a_copy_is_frozen():
    with pytest.raises(FrozenInstanceError):
        replacer(Fast)(Fast("here", needed="x")).place = "there"  # type: ignore[misc]


def test_a_copy_with_an_unknown_field_is_refused():
    with pytest.raises(TypeError):
        replacer(Fast)(Fast("here", needed="x"), colour="red")
