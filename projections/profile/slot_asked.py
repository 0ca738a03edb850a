"""A slot that a question asks for, as the readers of both languages return it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotAsked:
    """The slot that a question asks for, and the person whose slot it is."""

    attributes: tuple[str, ...]
    """The attributes that answer a question about the user."""
    of_others: tuple[str, ...] = ()
    """The attributes that answer a question about another person; their values name that person."""
    whose: str = ""
    """The person whose slot it is, case folded: a relation, a kind of pet, a name; empty for the user."""
    words: tuple[str, ...] = ()
    """Further words that the answer must contain, such as the kind of thing in a question about a favourite."""
    past: bool = False
    """Whether the question asks for an earlier value."""


NAMES_OF_OTHERS: Final = ("pet_names", "family", "friends")
DAYS_OF_OTHERS: Final = ("important_dates",)
_OF_OTHERS: Final = {"user_name": NAMES_OF_OTHERS, "birthday": DAYS_OF_OTHERS}
_FIRMS: Final = frozenset({"company", "employer", "firm", "workplace", "公司", "单位", "雇主"})


def slot_of(attributes: tuple[str, ...], whose: str, thing: str | None, *, past: bool) -> SlotAsked:
    """Return the slot for the findings of a reader; a question for the company's name asks for the employer."""
    if attributes == ("user_name",) and whose in _FIRMS:
        return SlotAsked(attributes=("employer",), past=past)
    return SlotAsked(
        attributes=attributes,
        of_others=_OF_OTHERS.get(attributes[0], ()),
        whose=whose,
        words=(thing,) if thing else (),
        past=past,
    )
