"""Scores of an extractor on labelled windows.

A fact is found if one memory has all its words (`a|b`: either, `a&b`: both). A memory is false if it states neither a
fact nor anything else that is true (`also_true`), or if it states something wrong, such as a value that was corrected.
A slot is right if the profile would have its value. A date is right if a memory of the fact has that day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.extraction.protocol import Extraction, Proposal


@dataclass(slots=True)
class Score:
    """Counts over windows."""

    windows: int = 0
    usable: int = 0
    entries: int = 0
    false: int = 0
    facts: int = 0
    facts_found: int = 0
    slots: int = 0
    slots_right: int = 0
    slots_filled: int = 0
    dates: int = 0
    dates_right: int = 0
    empty: int = 0
    empty_right: int = 0

    @classmethod
    def of(cls, windows: list[dict[str, Any]], found: list[Extraction | None], *, show: bool = False) -> Score:
        """Return the score of the extractions of windows; None is an unusable answer."""
        score = cls()
        for labelled, extraction in zip(windows, found, strict=True):
            score.add(labelled, extraction, show=show)
        return score

    def add(self, labelled: dict[str, Any], extraction: Extraction | None, *, show: bool) -> None:
        """Count one window."""
        proposals = extraction.proposals if extraction else ()
        self.windows += 1
        self.usable += extraction is not None
        self.entries += len(proposals)
        wrong = [p for p in proposals if _is_false(p, labelled)]
        self.false += len(wrong)
        right = [p for p in proposals if p not in wrong]
        missed = []
        for fact in labelled["facts"]:
            saying = [p for p in right if _says(p.content, fact["says"])]
            self.facts += 1
            self.facts_found += bool(saying)
            if not saying:
                missed.append(fact["says"])
            if "on" in fact:
                self.dates += 1
                self.dates_right += any(p.occurred_on and p.occurred_on.isoformat() == fact["on"] for p in saying)
        self._add_slots(labelled, proposals)
        if not labelled["facts"]:
            self.empty += 1
            self.empty_right += not proposals
        if show:
            _show(labelled, extraction, wrong, missed)

    def _add_slots(self, labelled: dict[str, Any], proposals: tuple[Proposal, ...]) -> None:
        held: dict[str, list[str]] = {}
        for proposal in proposals:
            if proposal.attribute and proposal.value:
                held.setdefault(proposal.attribute, []).append(proposal.value.casefold())
        self.slots_filled += sum(map(len, held.values()))
        for attribute, value in labelled["slots"].items():
            self.slots += 1
            self.slots_right += any(v in value.split("|") for v in held.get(attribute, ()))


def _show(labelled: dict[str, Any], extraction: Extraction | None, wrong: list[Proposal], missed: list[str]) -> None:
    print(f"\n{labelled['id']}  missed: {missed}")
    for p in extraction.proposals if extraction else ():
        mark = "FALSE" if p in wrong else "     "
        print(f"  {mark} {p.content} [{p.attribute}={p.value}] {p.occurred_on} {p.sources}")
    for reason in extraction.dropped if extraction else ("UNUSABLE",):
        print(f"        dropped: {reason}")


def _is_false(proposal: Proposal, labelled: dict[str, Any]) -> bool:
    content = proposal.content
    if any(_says(content, pattern) for pattern in labelled["wrong"]):
        return True
    true = [fact["says"] for fact in labelled["facts"]] + labelled["also_true"]
    return not any(_says(content, pattern) for pattern in true)


def _says(content: str, pattern: str) -> bool:
    """Return whether a text matches a pattern: alternatives by `|` of parts by `&`, each a regular expression."""
    text = content.casefold()
    return any(all(re.search(part, text) for part in way.split("&")) for way in pattern.split("|"))


def table(scores: dict[str, Score]) -> str:
    """Return the scores as a table in Markdown."""
    lines = ["| | usable | found | false | slots | dates | nothing where nothing is | memories |", "|---" * 8 + "|"]
    for name, s in scores.items():
        shares = (
            f"{s.usable}/{s.windows}",
            _share(s.facts_found, s.facts),
            _share(s.false, s.entries),
            _share(s.slots_right, s.slots),
            _share(s.dates_right, s.dates),
            f"{s.empty_right}/{s.empty}",
            str(s.entries),
        )
        lines.append(f"| {name} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else "-"
