"""What the clauses of a sentence have told so far, with what goes on joined to what it goes on from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streams.extraction.rules.finding import Finding

_NAMES: Final = frozenset({"family", "friends", "pet_names"})
"""Slots that hold only how somebody is called: what else their clause says is read all the same."""
_HAN: Final = re.compile(r"[一-鿿]")
_PASSING: Final = re.compile(
    r"今[天早晚日]|昨[天晚]|刚|推荐|建议|劝|\b(?:today|tonight|yesterday|this morning|suggest|recommend|advise)",
    re.IGNORECASE,
)
"""Words of what was so on one day, or was advised: it does not go on from what lasts."""
_LONGEST: Final = 120
"""Characters of a memory to which more words of its sentence are joined."""


@dataclass(slots=True)
class Account:
    """The findings of a sentence, in order; `told` is the last that fills no slot, `named` the last of somebody."""

    found: list[Finding] = field(default_factory=list)
    told: Finding | None = None
    named: Finding | None = None

    def add(self, said: Sequence[Finding], more: Sequence[Finding], *, goes_on: bool) -> None:
        """Add a clause's findings; those of its words alone are joined to what was told, where it goes on from that."""
        if self.told and goes_on and (said or more) and all(map(_is_loose, more)) and all(map(_is_habit, said)):
            for one in (*said, *more):  # 我想学游泳，暑假报了班: the second makes no sense alone
                self.join(one.content)
            return
        self.found += said
        self.found += more
        of_somebody = (one for one in (*more, *said) if one.category == "people" and one.attribute in (None, *_NAMES))
        self.named = next(of_somebody, self.named)
        last = (*said, *more)[-1:]
        self.told = last[0] if last and last[0].attribute is None else None

    def join(self, words: str) -> None:
        """Join words about the user to what was told last."""
        if self.told is None or len(self.told.content) + len(words) > _LONGEST or _PASSING.search(words):
            return
        chinese = _HAN.search(self.told.content)
        bare = words.removeprefix("用户" if chinese else "User ") if self.told.category != "people" else words
        joined = replace(self.told, content=f"{self.told.content}{'，' if chinese else ', '}{bare}")
        self._replace(self.told, joined)

    def add_of_named(self, also: Finding) -> None:
        """Add what is said of the person who was named last."""
        if self.named is not None and self.named.attribute is None:
            self._replace(self.named, also)
        else:
            self.found.append(also)
        self.named = also

    def _replace(self, old: Finding, new: Finding) -> None:
        self.found[self.found.index(old)] = new
        self.told = new if self.told is old else self.told
        self.named = new if self.named is old else self.named


def _is_loose(finding: Finding) -> bool:
    """Return whether a finding is of the user, and of no slot and no day."""
    return finding.attribute is None and finding.occurred_on is None and finding.category in ("fact", "habit")


def _is_habit(finding: Finding) -> bool:
    return finding.category == "habit" and _is_loose(finding)


def names_within(said: Sequence[Finding], text: str) -> bool:
    """Return whether findings keep only names that stand in their clause."""
    return bool(said) and all(one.attribute in _NAMES and (one.value or "").split()[-1] in text for one in said)
