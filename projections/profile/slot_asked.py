"""A slot that a question asks for, as the readers of both languages return it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotAsked:
    """What is asked for, of whom."""

    attributes: tuple[str, ...]
    """The attributes that answer, where it is asked of the user."""
    of_others: tuple[str, ...] = ()
    """The attributes that answer, where it is asked of somebody else: these name whose they are."""
    whose: str = ""
    """Whose slot it is, case folded: a relation, a kind of pet, a name; empty for the user."""
    words: tuple[str, ...] = ()
    """Words that the answer has besides, such as the thing of which the favourite is asked."""
    past: bool = False
    """Whether it asks for what was before."""


NAMES_OF_OTHERS: Final = ("pet_names", "family", "friends")
DAYS_OF_OTHERS: Final = ("important_dates",)
_OF_OTHERS: Final = {"user_name": NAMES_OF_OTHERS, "birthday": DAYS_OF_OTHERS}
_FIRMS: Final = frozenset({"company", "employer", "firm", "workplace", "公司", "单位", "雇主"})


def slot_of(attributes: tuple[str, ...], whose: str, thing: str | None, *, past: bool) -> SlotAsked:
    """Return the slot for what a reader found; the name of a company is the employer."""
    if attributes == ("user_name",) and whose in _FIRMS:
        return SlotAsked(attributes=("employer",), past=past)
    return SlotAsked(
        attributes=attributes,
        of_others=_OF_OTHERS.get(attributes[0], ()),
        whose=whose,
        words=(thing,) if thing else (),
        past=past,
    )
